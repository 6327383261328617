// What remark checks in a Markdown file: links to files and headings, and references without a definition.

import remarkGfm from "remark-gfm";
import noUndefinedReferences from "remark-lint-no-undefined-references";
import remarkValidateLinks from "remark-validate-links";
import { visit } from "unist-util-visit";

// Makes `<a id="…">` known to remark-validate-links, which reads no HTML.
function anchors() {
    return tree => visit(tree, "html", node => {
        const id = /\bid="([^"]+)"/.exec(node.value)?.[1];
        node.data = { hProperties: { id } };
    });
}

// Links to items such as `crate::Error` are rustdoc's to check. remark takes `derive@crate::TableEntity` for a file.
function withoutItems() {
    return tree => visit(tree, ["link", "definition"], node => {
        node.url = node.url.includes("::") ? "" : node.url;
    });
}

export default {
    plugins: [
        remarkGfm,
        anchors,
        withoutItems,
        // rustdoc and book/build resolve the names of items, such as [`Error::kind`].
        [noUndefinedReferences, { allow: ["Unreleased", { source: "^`[^`]+`$" }] }],
        [remarkValidateLinks, { repository: false }],
    ],
};
