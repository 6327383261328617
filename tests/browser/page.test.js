// The page of azure-table-mock, as a person uses it. Takes the program from AZURE_TABLE_MOCK and the
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
    program = spawn(process.env.AZURE_TABLE_MOCK, arguments_, { stdio });
    const [line] = await once(createInterface({ input: program.stdout }), "line");
    account = line.replace("azure-table-mock listening on ", "");
    await seed();
    const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
    browser = await chromium.launch({ executablePath, args: flags });
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("requestfailed", (request) => complaints.push(`${request.url()} failed`));
    page.on("response", (reply) => {
        if (reply.status() >= 400) complaints.push(`${reply.url()}: ${reply.status()}`);
    });
});

after(async () => {
    await browser?.close();
    program?.kill("SIGTERM");
});

test("from the tables into a table, and on to its last page", async () => {
    await page.goto(new URL("/-/", account).href);
    assert.equal(await page.title(), "Tables - azure-table-mock");
    assert.equal(await page.locator("tbody tr").count(), 3);
    await picture("tables");
    await page.getByRole("link", { name: "Blogs" }).click();
    assert.equal(await page.locator("h1").textContent(), "Blogs");
    assert.equal(await page.locator("tbody tr").count(), 50);
    assert.match(await page.locator("tbody tr").first().textContent(), /post-000/);
    await picture("rows");
    await page.getByRole("link", { name: "Next page" }).click();
    assert.match(await page.locator("tbody tr").first().textContent(), /post-050/);
    await page.getByRole("link", { name: "Next page" }).click();
    assert.equal(await page.locator("tbody tr").count(), 20);
    assert.equal(await page.getByRole("link", { name: "Next page" }).count(), 0);
    await page.getByRole("link", { name: "First page" }).click();
    assert.match(await page.locator("tbody tr").first().textContent(), /post-000/);
});

test("values have their types, and what is stored is text", async () => {
    await page.goto(`${new URL(account).origin}/-/devstoreaccount1/Blogs`);
    const first = page.locator("tbody tr").first();
    const types = ["String", "Int32", "Double", "Int64", "DateTime", "Guid", "Boolean", "Binary"];
    for (const type of types) {
        assert.ok(await first.getByText(`Edm.${type}`, { exact: true }).count() > 0, type);
    }
    assert.ok((await first.textContent()).includes(trap));
    assert.equal(await page.locator("main script, main b").count(), 0);
    assert.equal(await page.title(), "Blogs - devstoreaccount1 - azure-table-mock");
    await page.getByRole("link", { name: "post-001" }).click();
    assert.equal(await page.locator("h1").textContent(), "Entity");
    const body = page.locator("tr", { has: page.getByRole("rowheader", { name: "Body" }) });
    assert.ok((await body.textContent()).includes("long ".repeat(499)), "in full");
    await picture("entity");
});

test("the last requests say what they cost", async () => {
    await page.goto(new URL("/-/", account).href);
    await page.getByRole("link", { name: "Requests" }).click();
    const [newest, before_it] = [0, 1].map((at) => page.locator("tbody tr").nth(at));
    assert.match(await newest.textContent(), /Get.*404.*point/);
    assert.match(await before_it.textContent(), /Query.*Blogs.*200.*table scan.*120.*µs/);
    await picture("requests");
});

test("it is readable for all: landmarks, headers, contrast in the dark too", async () => {
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await page.goto(`${new URL(account).origin}/-/devstoreaccount1/Blogs`);
        assert.equal(await page.locator("html").getAttribute("lang"), "en");
        assert.equal(await page.locator("main h1").count(), 1);
        assert.equal(await page.locator("table > caption").count(), 1);
        assert.equal(await page.locator("thead th:not([scope=col])").count(), 0);
        for (const part of ["main h1", "td bdi", "td .type", "caption", "main a"]) {
            assert.ok(await contrast(page.locator(part).first()) >= 4.5, `${part}, ${colorScheme}`);
        }
        await picture(`rows-${colorScheme}`);
    }
    await page.setViewportSize({ width: 420, height: 800 });
    const widths = "[document.documentElement.scrollWidth, innerWidth]";
    const [content, window] = await page.evaluate(widths);
    assert.ok(content <= window, "only the table itself is scrolled to the side");
    await picture("rows-narrow");
});

test("the browser complains of nothing", () => {
    assert.deepEqual(complaints, []);
});

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
