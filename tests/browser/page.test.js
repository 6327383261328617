// The page of azure-table-emulator, as a person uses it. Takes the program from AZURE_TABLE_EMULATOR and the
// browser from CHROMIUM; with SCREENSHOTS set, leaves pictures in that folder.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const flags = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const trap = "<script>document.title = 'taken'</script><b>bold</b>";
const complaints = [];
let program, browser, page, account;

async function send(method, path, body) {
    const headers = { "content-type": "application/json", accept: "application/json" };
    const reply = await fetch(account + path, { method, headers, body: JSON.stringify(body) });
    assert.ok(reply.ok, `${method} ${path}: ${reply.status} ${await reply.text()}`);
}

async function seed() {
    for (const table of ["Blogs", "Channels", "Empty"]) {
        await send("POST", "/Tables", { TableName: table });
    }
    for (let at = 0; at < 120; at++) {
        await send("POST", "/Blogs", {
            PartitionKey: at < 60 ? "Channel9" : "MSDN",
            RowKey: `post-${String(at).padStart(3, "0")}`,
            Text: at === 0 ? trap : `Post number ${at}, about tables and their rows`,
            Rating: at % 5,
            Score: 2.5 * at + 0.25,
            "Views@odata.type": "Edm.Int64",
            Views: String(at * 7919),
            "Posted@odata.type": "Edm.DateTime",
            Posted: "2009-04-14T12:30:00Z",
            "Id@odata.type": "Edm.Guid",
            Id: "c9da6455-213d-42c9-9a79-3e9149a57833",
            Live: at % 2 === 0,
            "Cover@odata.type": "Edm.Binary",
            Cover: "AQIDBAUG",
            Body: at === 1 ? "long ".repeat(500) : undefined,
        });
    }
    await send("POST", "/Channels", { PartitionKey: "tv", RowKey: "" });
    await fetch(`${account}/Blogs()?$filter=Rating%20eq%203`);
    await fetch(`${account}/Blogs(PartitionKey='no',RowKey='one')`);
}

async function picture(name) {
    if (process.env.SCREENSHOTS) {
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` });
    }
}

before(async () => {
    const arguments_ = ["--port", "0", "--loose"];
    const stdio = ["ignore", "pipe", "inherit"];
    program = spawn(process.env.AZURE_TABLE_EMULATOR, arguments_, { stdio });
    const [line] = await once(createInterface({ input: program.stdout }), "line");
    account = line.replace("azure-table-emulator listening on ", "");
    await seed();
    const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
    browser = await chromium.launch({ executablePath, args: flags });
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("requestfailed", (request) => {
        // A page load that becomes a download counts as failed.
        if (!request.url().includes("/export")) complaints.push(`${request.url()} failed`);
    });
    page.on("response", (reply) => {
        if (reply.status() >= 400) complaints.push(`${reply.url()}: ${reply.status()}`);
    });
});

after(async () => {
    await browser?.close();
    program?.kill("SIGTERM");
});

test("from the tables into a table, on to its last page and back", async () => {
    await page.goto(new URL("/-/", account).href);
    assert.equal(await page.title(), "Tables - azure-table-emulator");
    assert.equal(await page.locator("tbody tr").count(), 3);
    await picture("tables");
    await page.getByRole("link", { name: "Blogs" }).click();
    assert.equal(await page.locator("h1").textContent(), "Blogs");
    assert.equal(await page.locator("tbody tr").count(), 50);
    assert.match(await page.locator("tbody tr").first().textContent(), /post-000/);
    await picture("rows");
    await page.getByRole("link", { name: "Next page" }).click();
    assert.match(await page.locator("tbody tr").first().textContent(), /post-050/);
    assert.equal(await page.getByRole("columnheader", { name: "Body" }).count(), 1, "stays");
    await page.getByRole("link", { name: "Next page" }).click();
    assert.equal(await page.locator("tbody tr").count(), 20);
    assert.equal(await page.getByRole("link", { name: "Next page" }).count(), 0);
    await page.getByRole("link", { name: "Previous page" }).click();
    assert.match(await page.locator("tbody tr").first().textContent(), /post-050/);
    await page.getByRole("link", { name: "First page" }).click();
    assert.match(await page.locator("tbody tr").first().textContent(), /post-000/);
});

test("a query by keyboard: filter, plan, partition, columns, order", async () => {
    await page.goto(blogs());
    await page.getByLabel("Filter (OData)").fill("Rating eq 3 and PartitionKey eq 'MSDN'");
    await page.keyboard.press("Enter");
    await page.waitForURL(/filter=/);
    assert.equal(await page.locator("tbody tr").count(), 12);
    assert.match(await page.locator(".plan").textContent(), /partition: the filter states/);
    await picture("filter");
    await page.getByRole("columnheader", { name: "Views" }).getByRole("link").click();
    await page.getByRole("columnheader", { name: "Views" }).getByRole("link").click();
    assert.match(await page.locator("tbody tr").first().textContent(), /post-118/);
    await page.getByText("Select columns").click();
    await page.getByRole("checkbox", { name: "Score" }).check();
    await page.getByRole("button", { name: "Query" }).click();
    await page.waitForURL(/column=Score/);
    assert.equal(await page.locator("thead th").count(), 4);
    assert.match(await page.locator("tbody tr").first().textContent(), /post-118/, "still sorted");
    await picture("columns");
    await page.getByLabel("Filter (OData)").fill("Rating = 3");
    await page.getByRole("button", { name: "Query" }).click();
    assert.match(await page.getByRole("alert").textContent(), /eq/);
    await page.getByRole("link", { name: "Clear" }).click();
    await page.getByLabel("From PartitionKey").fill("M");
    await page.getByRole("button", { name: "Query" }).click();
    await page.waitForURL(/from=M/);
    assert.match(await page.locator("tbody tr").first().textContent(), /post-060/);
    await page.locator("tbody tr").first().getByRole("link", { name: "MSDN" }).click();
    assert.equal(await page.getByLabel("Filter (OData)").inputValue(), "PartitionKey eq 'MSDN'");
});

test("copies go to the clipboard, and an export is a file", async () => {
    await page.goto(blogs());
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("link", { name: "Rust struct" }).click();
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const text = await page.evaluate("navigator.clipboard.readText()");
    assert.match(text, /#\[derive\(Debug, Clone, TableEntity\)\]/);
    assert.match(text, /pub body: Option<String>/);
    await picture("rust");
    await page.goto(`${blogs()}/entity?PartitionKey=Channel9&RowKey=post-003`);
    await page.getByRole("link", { name: "OData" }).click();
    const entity = JSON.parse(await page.locator("pre").textContent());
    assert.equal(entity["Views@odata.type"], "Edm.Int64");
    await page.goBack();
    await page.getByRole("link", { name: "JSON", exact: true }).click();
    assert.equal(JSON.parse(await page.locator("pre").textContent()).Views, 3 * 7919);
    await page.goto(blogs());
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export as CSV" }).click();
    assert.equal((await download).suggestedFilename(), "Blogs.csv");
});

test("a table and its entities are created, edited and deleted", async () => {
    await page.goto(new URL("/-/", account).href);
    await page.getByLabel("New table").fill("Made");
    await page.getByRole("button", { name: "Create table" }).click();
    assert.equal(await page.getByRole("status").textContent(), "The table is created.");
    await page.getByRole("link", { name: "Add", exact: true }).click();
    await page.getByLabel("PartitionKey").fill("p");
    await page.getByLabel("RowKey").fill("r");
    await page.locator("[name=name-0]").fill("Views");
    await page.locator("[name=type-0]").selectOption("Edm.Int64");
    await page.locator("[name=value-0]").fill("many");
    await page.getByRole("button", { name: "More properties" }).click();
    assert.equal(await page.locator("[name=value-0]").inputValue(), "many");
    await page.locator("[name=name-1]").fill("Text");
    await page.locator("[name=value-1]").fill("one\ntwo");
    await expectStatus(400, () => page.getByRole("button", { name: "Insert" }).click());
    assert.match(await page.getByRole("alert").textContent(), /whole number of 64 bits/);
    await picture("add");
    await page.locator("[name=value-0]").fill("9007199254740993");
    await page.getByRole("button", { name: "Insert" }).click();
    assert.equal(await page.getByRole("status").textContent(), "The entity is inserted.");
    assert.match(await page.locator("main").textContent(), /9007199254740993/);

    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Value of Views").fill("5");
    await picture("edit");
    await send("PUT", "/Made(PartitionKey='p',RowKey='r')", { Other: 1 });
    await expectStatus(409, () => page.getByRole("button", { name: "Save" }).click());
    assert.match(await page.getByRole("alert").textContent(), /Another program changed/);
    await picture("conflict");
    await page.getByRole("button", { name: "Overwrite" }).click();
    assert.equal(await page.getByRole("status").textContent(), "The entity is saved.");
    const text = page.getByRole("row", { name: /Text/ });
    assert.match(await text.textContent(), /one\ntwo/);

    await page.getByRole("link", { name: "Made" }).click();
    await send("POST", "/Made", { PartitionKey: "p", RowKey: "r2" });
    await page.getByRole("link", { name: "r2" }).waitFor();
    await page.getByRole("checkbox", { name: "Select all" }).check();
    await page.getByRole("button", { name: "Delete selected" }).click();
    assert.equal(await page.locator("h1").textContent(), "Delete 2 entities?");
    await page.getByRole("link", { name: "Cancel" }).click();
    await page.getByRole("checkbox", { name: "Select p, r", exact: true }).check();
    await page.getByRole("button", { name: "Delete selected" }).click();
    assert.equal(await page.locator("h1").textContent(), "Delete 1 entity?");
    await picture("delete");
    await page.getByRole("button", { name: "Delete" }).click();
    assert.equal(await page.getByRole("status").textContent(), "Deleted.");
    await page.getByRole("link", { name: "Delete table" }).click();
    await page.getByRole("button", { name: "Delete table" }).click();
    assert.equal(await page.getByRole("status").textContent(), "The table is deleted.");
});

test("values have their types, and what is stored is text", async () => {
    await page.goto(blogs());
    const first = page.locator("tbody tr").first();
    const types = ["String", "Int32", "Double", "Int64", "DateTime", "Guid", "Boolean", "Binary"];
    for (const type of types) {
        assert.ok(await first.getByText(`Edm.${type}`, { exact: true }).count() > 0, type);
    }
    assert.ok((await first.textContent()).includes(trap));
    assert.equal(await page.locator("main script, main td b").count(), 0);
    assert.equal(await page.title(), "Blogs - devstoreaccount1 - azure-table-emulator");
    await page.getByRole("link", { name: "post-001" }).click();
    assert.equal(await page.locator("h1").textContent(), "Entity");
    const body = page.locator("tr", { has: page.getByRole("rowheader", { name: "Body" }) });
    assert.ok((await body.textContent()).includes("long ".repeat(499)), "in full");
    await picture("entity");
});

test("the last requests say what they cost and why they failed", async () => {
    await fetch(`${account}/Blogs()?$filter=Rating%20eq%203`);
    await fetch(`${account}/Blogs(PartitionKey='no',RowKey='one')`);
    await page.goto(new URL("/-/", account).href);
    await page.getByRole("link", { name: "Requests" }).click();
    const [newest, before_it] = [0, 1].map((at) => page.locator("tbody tr").nth(at));
    assert.match(await newest.textContent(), /Get.*404.*ResourceNotFound.*point/);
    assert.match(await before_it.textContent(), /Query.*Blogs.*200.*table scan.*Rating eq 3.*120.*µs/);
    await picture("requests");
    await before_it.getByRole("link", { name: "Query" }).click();
    assert.match(await page.locator("main").textContent(), /\$filterRating eq 3/);
    await picture("request");
    await page.getByRole("link", { name: "Query with this filter" }).click();
    assert.equal(await page.locator("tbody tr").count(), 24);
    await page.getByRole("link", { name: "Requests" }).click();
    await page.getByRole("link", { name: "Errors" }).click();
    await page.waitForURL(/show=errors/);
    assert.equal(await page.locator("tbody td.number:not(.bad)").filter({ hasText: /^200$/ }).count(), 0);
    await page.goto(new URL("/-/requests", account).href);
    await page.getByRole("row", { name: /CreateTable/ }).first().getByRole("link").click();
    assert.match(await page.locator("pre").textContent(), /TableName/);
});

test("a page shows changes of other programs by itself", async () => {
    await page.goto(blogs("Channels"));
    assert.equal(await page.locator("tbody tr").count(), 1);
    await send("POST", "/Channels", { PartitionKey: "tv", RowKey: "new" });
    await page.getByRole("link", { name: "new" }).waitFor({ timeout: 10_000 });
    await page.getByLabel("Live").uncheck();
    await send("POST", "/Channels", { PartitionKey: "tv", RowKey: "quiet" });
    await page.waitForTimeout(3500);
    assert.equal(await page.locator("tbody tr").count(), 2, "switched off");
    await page.getByLabel("Live").check();
    await page.getByRole("link", { name: "quiet" }).waitFor({ timeout: 10_000 });
});

test("reading needs no script", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(blogs());
    await plain.getByLabel("Filter (OData)").fill("Rating eq 3");
    await plain.getByRole("button", { name: "Query" }).click();
    assert.equal(await plain.locator("tbody tr").count(), 24);
    await plain.getByRole("link", { name: "Rust struct" }).click();
    assert.match(await plain.locator("pre").textContent(), /pub struct Blog/);
    assert.equal(await plain.getByRole("button", { name: "Copy" }).count(), 0, "needs the script");
    await context.close();
});

test("it is readable for all: landmarks, headers, contrast in the dark too", async () => {
    const pages = ["", "/add", "/edit?PartitionKey=Channel9&RowKey=post-000"];
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        for (const path of pages) {
            await page.goto(blogs() + path);
            assert.equal(await page.locator("html").getAttribute("lang"), "en");
            assert.equal(await page.locator("main h1").count(), 1);
            assert.equal(await page.locator("table > caption").count(), 1);
            assert.equal(await page.locator("thead th:not([scope=col])").count(), 0);
            assert.deepEqual(await unlabelled(), []);
            for (const part of ["h1", "td bdi", "td .type", "caption", "a", "button", ".danger", "label"]) {
                const one = page.locator(`main ${part}`).first();
                if (await one.count() === 0) continue;
                assert.ok(await contrast(one) >= 4.5, `${part}, ${colorScheme}`);
            }
            await picture(`${path.slice(1, 5) || "rows"}-${colorScheme}`);
        }
    }
    await page.setViewportSize({ width: 420, height: 800 });
    for (const path of [...pages, "/../../requests", "/copy?as=odata"]) {
        await page.goto(blogs() + path);
        const widths = "[document.documentElement.scrollWidth, innerWidth]";
        const [content, window] = await page.evaluate(widths);
        assert.ok(content <= window, `only the table itself is scrolled to the side: ${path}`);
        await picture(`narrow-${path.replace(/\W/g, "").slice(0, 4) || "rows"}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(blogs());
    const pinned = await page.evaluate(() => {
        const region = document.querySelector(".scroll");
        region.scrollLeft = 600;
        const cells = [...document.querySelectorAll("tbody tr:first-child > :is(.pk, .rk)")];
        return cells.every((cell) => cell.getBoundingClientRect().left >= 0);
    });
    assert.ok(pinned, "the keys stay in view");
    await picture("rows-scrolled");
});

test("the browser complains of nothing", () => {
    assert.deepEqual(complaints, []);
});

/// The address of a table's page.
function blogs(table = "Blogs") {
    return `${new URL(account).origin}/-/devstoreaccount1/${table}`;
}

/// Runs an action whose page has an error status, which the browser reports.
async function expectStatus(status, action) {
    const isForm = (response) => response.request().method() === "POST";
    const [reply] = await Promise.all([page.waitForResponse(isForm), action()]);
    assert.equal(reply.status(), status);
    await page.waitForLoadState();
    const isExpected = (complaint) => complaint.includes(`: ${status}`)
        || complaint.includes(`status of ${status}`);
    for (let at = complaints.length - 1; at >= 0; at--) {
        if (isExpected(complaints[at])) complaints.splice(at, 1);
    }
}

/// The inputs and buttons without a name for screen readers.
function unlabelled() {
    return page.evaluate(() => [...document.querySelectorAll("input, select, textarea, button, a")]
        .filter((one) => one.type !== "hidden")
        .filter((one) => !(one.labels?.length || one.ariaLabel || one.textContent.trim()))
        .map((one) => one.outerHTML));
}

/// The contrast of an element's text with what is behind it, as WCAG has it.
function contrast(locator) {
    return locator.evaluate((element) => {
        const parts = (color) => color.match(/[\d.]+/g).map(Number);
        let behind = element;
        while (behind && (parts(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) {
            behind = behind.parentElement;
        }
        const luminance = (color) => {
            const [red, green, blue] = parts(color).map((part) => {
                const share = part / 255;
                return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        };
        const text = luminance(getComputedStyle(element).color);
        const ground = luminance(getComputedStyle(behind ?? document.body).backgroundColor);
        return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    });
}
