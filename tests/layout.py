"""Text on a page that is cut off or lies on other text."""

from __future__ import annotations

from typing import Any

FAULTS = """() => {
    const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true })
        && !e.closest(".hidden, option, datalist, noscript, .skip");
    // what of a rectangle is seen through the scroll boxes and clips around it
    const seen = (rect, element) => {
        let [l, t, r, b] = [rect.left, rect.top, rect.right, rect.bottom];
        for (let e = element; e && e !== document.body; e = e.parentElement) {
            if (getComputedStyle(e).overflow === "visible") continue;
            const box = e.getBoundingClientRect();
            [l, t] = [Math.max(l, box.left), Math.max(t, box.top)];
            [r, b] = [Math.min(r, box.right), Math.min(b, box.bottom)];
        }
        return r - l > 1 && b - t > 1 ? [l, t, r, b] : null;
    };
    const texts = [], cut = [];
    for (const e of document.querySelectorAll("body *")) {
        if (!shown(e)) continue;
        for (const node of e.childNodes) {
            if (node.nodeType !== 3 || !node.textContent.trim()) continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            for (const rect of range.getClientRects()) {
                const part = seen(rect, e);
                if (part) texts.push([part, e, node.textContent.trim().slice(0, 40)]);
                const edge = Math.min(innerWidth, screen.width) + 1;
                if (rect.left < -1 || rect.right > edge && !e.closest(".scroll, .chart, nav, [class*=si-]"))
                    cut.push("beyond the page: " + node.textContent.trim().slice(0, 60));
            }
        }
        const style = getComputedStyle(e);
        if (e.matches("button, a, th, td, label, summary, .button") && style.overflow !== "visible"
            && e.scrollWidth > e.clientWidth + 1)
            cut.push("cut off: " + e.textContent.trim().slice(0, 60));
    }
    const over = [];
    for (let i = 0; i < texts.length; i++)
        for (let j = i + 1; j < texts.length; j++) {
            const [[l, t, r, b], e, said] = texts[i], [[l2, t2, r2, b2], e2, said2] = texts[j];
            const wide = Math.min(r, r2) - Math.max(l, l2), high = Math.min(b, b2) - Math.max(t, t2);
            if (wide <= 2 || high <= 4) continue;
            if (e === e2 || e.contains(e2) && getComputedStyle(e2).position === "static" || e2.contains(e)) continue;
            if (getComputedStyle(e).position === "sticky" || e.closest("nav, thead") || e2.closest("thead")) continue;
            over.push(`${said} / ${said2}`);
        }
    return [...new Set([...cut, ...over])].slice(0, 12);
}"""


def list_faults(page: Any) -> list[str]:
    """Return the texts of a page that are cut off, beyond its edge, or on top of each other.

    Parameters
    ----------
    page : Page
        A page of Playwright.
    """
    faults: list[str] = page.evaluate(FAULTS)
    return faults
