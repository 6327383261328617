// Live updates, copy buttons and the selection of all rows. Everything else works without a script.
"use strict";

const PERIOD = 1500;
const live = document.getElementById("live");
let seen = document.body.dataset.version;
let isWaiting = false;

live.parentElement.hidden = false;
try {
    live.checked = sessionStorage.getItem("live") !== "off";
} catch { /* Storage is disabled. */ }
live.addEventListener("change", () => {
    try {
        sessionStorage.setItem("live", live.checked ? "on" : "off");
    } catch { /* Storage is disabled. */ }
    update();
});

// A hidden page requests nothing, and a visible one holds no connection between two requests.
document.addEventListener("visibilitychange", update);
setInterval(update, PERIOD);
update();

async function update() {
    if (document.hidden || !live.checked || isWaiting) return;
    isWaiting = true;
    try {
        const { version } = await (await fetch("/-/changes")).json();
        if (version !== seen) await replace();
        seen = version;
    } catch {
        // The emulator is stopped. The next period tries again.
    } finally {
        isWaiting = false;
    }
}

// Replaces the live regions of this page by those of its newest version.
async function replace() {
    const regions = document.querySelectorAll("[data-live]");
    if (regions.length === 0) return;
    const response = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!response.ok) return;
    const newest = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const region of regions) {
        const next = newest.getElementById(region.id);
        if (next === null || next.innerHTML === region.innerHTML || isInUse(region)) continue;
        const focused = region.contains(document.activeElement) ? document.activeElement : null;
        const href = focused?.getAttribute("href");
        const scroll = region.querySelector(".scroll")?.scrollLeft ?? 0;
        region.replaceChildren(...next.childNodes);
        showSelection();
        const scrolled = region.querySelector(".scroll");
        if (scrolled !== null) scrolled.scrollLeft = scroll;
        if (href) region.querySelector(`[href="${CSS.escape(href)}"]`)?.focus({ preventScroll: true });
    }
}

// Selected rows and selected text must not vanish.
function isInUse(region) {
    const selection = getSelection();
    const isSelected = selection !== null && !selection.isCollapsed
        && region.contains(selection.anchorNode);
    return isSelected || region.querySelector("input:checked") !== null;
}

function showSelection() {
    for (const box of document.querySelectorAll("[data-select]")) box.hidden = false;
}

showSelection();
document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-select]")) return;
    for (const box of target.form.querySelectorAll("[name=row]")) box.checked = target.checked;
});

for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
        const text = document.getElementById(button.dataset.copy).textContent;
        const before = button.textContent;
        try {
            await navigator.clipboard.writeText(text);
            button.textContent = "Copied";
        } catch {
            getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
            button.textContent = "Press Ctrl+C";
        }
        setTimeout(() => { button.textContent = before; }, 2000);
    });
}
