"""Names that attack whatever shows them: pages, templates, spreadsheets, LaTeX, Markdown, terminals, readers."""

from __future__ import annotations

RUN = "window.ran = (window.ran || 0) + 1"
"""Leaves a trace in the page that runs it."""
AWAY = "http://127.0.0.1:9/"
"""An address that no page may ask for."""

PAYLOADS = {
    "end of script": f"</script><script>{RUN}</script>",
    "end of style and text": f"</style></title></textarea></noscript><script>{RUN}</script>",
    "attribute with image": f'"><img src=x onerror="{RUN}">',
    "attribute with svg": f"'><svg onload='{RUN}'>",
    "attribute without quotes": f"x onmouseover={RUN.replace(' ', '')} onfocus={RUN.replace(' ', '')} autofocus",
    "script address": f"javascript:{RUN}",
    "link": f'<a href="javascript:{RUN}">a</a>',
    "frame": f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    "details": f"<details open ontoggle='{RUN}'>",
    "mathml": f"<math><mtext></form><form><mglyph><style></math><img src onerror='{RUN}'>",
    "comment": f"--><script>{RUN}</script><!--",
    "open comment": "<!--<script>",
    "base and refresh": f'<base href="{AWAY}"><meta http-equiv="refresh" content="0;url={AWAY}">',
    "style": f"<style>*{{background:url({AWAY}style)}}</style>",
    "string of a script": f"${{{RUN}}}`'\\\";{RUN}//",
    "template of a page": f"{{{{constructor.constructor('{RUN}')()}}}}",
    "template of a server": "{{7*7}}${7*7}#{7*7}<%= 7*7 %>{% raw %}{{ ''.__class__ }}",
    "entities": "&lt;script&gt;&#60;b&#62;&amp;",
    "formula": "=cmd|' /C calc'!A0",
    "formula with a link": f'+HYPERLINK("{AWAY}","a")',
    "formula at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "formula minus": "-2+3+cmd|' /C calc'!A0",
    "LaTeX": r"\input{/etc/passwd}\immediate\write18{id}^^5cinput{x}$\csname a\endcsname%",
    "Markdown link": f"[a](javascript:{RUN.replace(' ', '')}) ![b]({AWAY}picture.png) <{AWAY}>",
    "Markdown blocks": "``` | a | b |\\| # * _x_ ~~y~~",
    "terminal": "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b1m",
    "reading direction": "\u202egnp.exe\u2066\u200f",
    "NUL and controls": "a\0b\x08c\x7f",
    "line separators": "a\u2028b\u2029c\x85d",
    "lines": "first\r\nsecond\tthird",
    "invisible": "a\u200b\ufeffb",
    "very long": "long-" + "x" * 5000 + "-end",
}
"""What it attacks, and the name."""
