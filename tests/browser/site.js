// The documentation site in a browser: links lead to pages and anchors, no page scrolls sideways on a phone, and the
// search finds pages. `.ci/parts/site` runs it with the folder of the site in SITE and the browser in CHROMIUM. `--screenshots
// FOLDER` leaves pictures there. Linkinator would report rustdoc's anchors as broken, because it does not decode them.

import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";

const site = process.env.SITE;
const folder = process.argv[2] === "--screenshots" ? process.argv[3] : undefined;
const types = {
    ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".png": "image/png", ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
};
const flags = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const complaints = [];
// Each link of the book, with a page that has it.
const links = new Map();

// Elements that are wider than the window, and that do not scroll within a block of their own. The page itself may not scroll:
// mdBook hides that from the sizes of the document.
function widerThanTheWindow() {
    const main = document.querySelector("main");
    const scrolls = element => /auto|scroll|hidden/.test(getComputedStyle(element).overflowX);
    const isWide = element => {
        if (element.getBoundingClientRect().right <= innerWidth + 1) {
            return false;
        }
        for (let parent = element.parentElement; parent !== main; parent = parent.parentElement) {
            if (scrolls(parent)) {
                return false;
            }
        }
        return true;
    };
    const found = [...main.querySelectorAll("*")].filter(isWide).slice(0, 3);
    return found.map(it => `<${it.localName} class="${it.className}"> ends at ${Math.round(it.getBoundingClientRect().right)} px`);
}

// What a page of the book contains: its links, and what is wrong with its headings, ids and pictures.
function contents() {
    const headings = document.querySelectorAll("main h1").length;
    const ids = [...document.querySelectorAll("[id]")].map(it => it.id);
    const wrong = ids.filter((id, at) => ids.indexOf(id) < at).map(id => `the id ${id} is not unique`);
    wrong.push(...[...document.images].filter(it => it.alt.length < 20).map(it => `${it.src} has no text`));
    if (headings !== 1) {
        wrong.push(`${headings} headings of the first level`);
    }
    return { wrong, links: [...document.links].map(it => it.href) };
}

const isFile = path => existsSync(path) && statSync(path).isFile();

function isBroken(link) {
    const { pathname, hash } = new URL(link);
    const file = join(site, decodeURIComponent(pathname));
    const anchor = decodeURIComponent(hash.slice(1));
    return !isFile(file) || (anchor !== "" && !readFileSync(file, "utf8").includes(`id="${anchor}"`));
}

const server = createServer((request, response) => {
    const file = join(site, decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    if (!isFile(file)) {
        response.writeHead(404).end();
        return;
    }
    response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
});
await new Promise(ready => server.listen(0, "127.0.0.1", ready));
const origin = `http://127.0.0.1:${server.address().port}`;

const files = await readdir(site, { recursive: true });
const book = files.filter(name => name.endsWith(".html") && !/^api\/|^(404|print|toc)\.html$/.test(name)).sort();
const api = ["index.html", "context/struct.TableContext.html", "guide/units_of_work/index.html"];
const names = [...book, ...api.map(name => `api/azure_table_client/${name}`)];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: flags });
for (const [width, theme] of [[390, "light"], [390, "navy"], [1280, "light"], [1280, "navy"]]) {
    const context = await browser.newContext({ viewport: { width, height: 844 } });
    await context.addInitScript(theme => {
        localStorage.setItem("mdbook-theme", theme);
        localStorage.setItem("rustdoc-use-system-theme", "false");
        localStorage.setItem("rustdoc-theme", theme === "navy" ? "dark" : "light");
    }, theme);
    const page = await context.newPage();
    page.on("pageerror", error => complaints.push(`${page.url()}: ${error}`));
    page.on("response", reply => {
        if (reply.status() >= 400 && !reply.url().endsWith("/favicon.ico")) {
            complaints.push(`${page.url()}: ${reply.url()}: ${reply.status()}`);
        }
    });
    for (const name of names) {
        await page.goto(`${origin}/${name}`);
        if (width === 390 && theme === "light" && book.includes(name)) {
            const found = await page.evaluate(contents);
            complaints.push(...found.wrong.map(what => `${name}: ${what}`));
            found.links.filter(link => link.startsWith(origin)).forEach(link => links.set(link, name));
        }
        const wide = await page.evaluate(widerThanTheWindow);
        complaints.push(...wide.map(what => `${name}: ${what} in a window of ${width} px`));
        const empty = await page.evaluate(() => [...document.images].filter(it => !it.naturalWidth).map(it => it.src));
        complaints.push(...empty.map(source => `${name}: ${source} is not shown`));
        if (folder !== undefined) {
            await mkdir(folder, { recursive: true });
            const path = `${folder}/${name.replaceAll("/", "-").replace(".html", "")}-${width}-${theme}.png`;
            await page.screenshot({ path });
        }
    }
    await page.goto(`${origin}/index.html?search=change+tracking+save`);
    const first = page.locator("#mdbook-searchresults a").first();
    await first.waitFor({ timeout: 10_000 }).catch(() => complaints.push(`the search finds nothing at ${width} px`));
    if (folder !== undefined) {
        await page.screenshot({ path: `${folder}/search-${width}-${theme}.png` });
    }
    await context.close();
}
await browser.close();
server.close();
const broken = [...links].filter(([link]) => isBroken(link));
complaints.push(...broken.map(([link, name]) => `${name}: ${link} is broken`));
console.log(`${names.length} pages in a browser at 390 and 1280 px, light and dark, with ${links.size} links: `
    + `${complaints.length} complaints`);
complaints.forEach(line => console.log(line));
process.exitCode = complaints.length > 0 ? 1 : 0;
