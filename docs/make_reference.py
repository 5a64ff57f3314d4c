"""The API reference, made from the public names and their docstrings.

``python docs/make_reference.py`` writes ``docs/reference/*.md``, a page a group of names; ``make docs`` does so
before it builds the site.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import shardwise as sw
from public_names import NAMES, Entry, entries, items, methods, properties, sections

FOLDER = Path(__file__).parent / "reference"

TITLES = {
    "reading": "Reading and writing",
    "scoring": "Splitting and scoring",
    "fits": "Models and fits",
    "comparing": "Comparing",
    "analysis": "Analysis",
    "planning": "Planning",
    "stability": "Many splits",
    "instances": "Instances",
    "judges": "Judges",
    "simulate": "Simulated scores",
    "holdout": "Held-out topics",
    "methods": "Methods",
    "papers": "Papers",
    "plot": "Charts",
    "rankings": "Rankings",
}
ROLE = re.compile(r":(?:func|class|meth|mod|attr|data|math):`~?([^`]*)`")


def markdown(text: str) -> str:
    """Turn the text of a docstring into Markdown: examples are fenced, roles become code.

    >>> markdown("Adds with :func:`add`.\\n\\n>>> 1 + 1\\n2")
    'Adds with `add`.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    blocks = []
    for block in re.split(r"\n{2,}", ROLE.sub(r"`\1`", text)):
        before, sign, example = block.partition(">>> ")
        blocks += [before.strip("\n")] if before.strip() else []
        blocks += [f"```pycon\n{sign}{example}\n```"] if sign else []
    return "\n\n".join(blocks).replace("\n```\n\n```pycon\n", "\n\n")


def signature(name: str, function: Callable[..., object]) -> str:
    """Return the call as a block of code, a parameter a line where one line is too short."""
    given = inspect.signature(function)
    taken = [one for one in given.parameters.values() if one.name not in {"self", "cls"}]
    kinds = [one.kind.name for one in taken]
    shown = [_parameter(one) for one in taken]
    if "KEYWORD_ONLY" in kinds and "VAR_POSITIONAL" not in kinds:
        shown.insert(kinds.index("KEYWORD_ONLY"), "*")
    result = given.return_annotation
    end = ")" if result is given.empty else f") -> {_type(result)}"
    line = f"{name}({', '.join(shown)}{end}"
    if len(line) > 100:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in shown) + end
    return f"```python\n{line}\n```"


def _parameter(one: inspect.Parameter) -> str:
    stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(one.kind.name, "")
    typed = "" if one.annotation is one.empty else f": {_type(one.annotation)}"
    if one.default is one.empty:
        return f"{stars}{one.name}{typed}"
    shown = getattr(one.default, "__qualname__", None) or repr(one.default)
    return f"{one.name}{typed}{' = ' if typed else '='}{shown}"


def _type(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__qualname__", str(annotation))


def body(doc: str) -> str:
    """Return a docstring as Markdown, its sections under bold headings and their items as lists."""
    parts = []
    for heading, text in sections(doc).items():
        if heading in {"", "Notes", "References", "Examples", "See Also"}:
            bold = f"**{heading}**\n\n" if heading in {"Notes", "References", "See Also"} else ""
            parts.append(bold + markdown(text))
        else:
            rows = [_item(*row) for row in items(text)]
            parts.append(f"**{heading}**\n\n" + "\n".join(rows))
    return "\n\n".join(part for part in parts if part)


def _item(names: str, kind: str, text: str) -> str:
    if not text and " " in names:  # a sentence, such as what is returned without a name for it
        return markdown(f"{names} : {kind}" if kind else names)
    code = ", ".join(f"`{name.strip().strip('`')}`" for name in names.split(","))
    words = " ".join(markdown(text).split())
    return f"- {code}{f' (`{kind}`)' if kind else ''}{f': {words}' if words else ''}"


def fields(owner: type) -> list[str]:
    """Return the fields of a dataclass as a list, each with its type and the comment beside it in the source."""
    if not dataclasses.is_dataclass(owner):
        return []
    source = inspect.getsource(owner)
    rows = []
    for field in dataclasses.fields(owner):
        if field.name.startswith("_"):
            continue
        comment = re.search(rf"^    {field.name}:[^#\n]*#\s*(.+)$", source, re.MULTILINE)
        words = comment.group(1).removeprefix("fmt: skip") if comment else ""
        rows.append(f"- `{field.name}` (`{_type(field.type)}`){f': {words}' if words else ''}")
    return rows


def written(entry: Entry, first: Entry) -> str:
    """Return the entry of one public name; a second name of the same object points to the first."""
    name, value = entry.name, entry.value
    lines = [f"## `{entry.shown}` {{ #{name} }}"]
    if entry.returned_by:
        lines.append(f"What [`sw.{entry.returned_by}`](#{entry.returned_by}) returns.")
    if first.name != name:
        lines.append(f"The same as [`{first.shown}`]({first.page}.md#{first.name}).")
    elif isinstance(value, type):
        lines.append(body(inspect.getdoc(value) or ""))
        held = fields(value)
        lines += ["**Fields**", "\n".join(held)] if held else []
        rows = [f"- `{key}`: {doc.splitlines()[0]}" for key, doc in properties(value).items() if doc]
        lines += ["**Properties**", "\n".join(rows)] if rows else []
        for method, function in methods(value).items():
            lines += [f"### `{method}` {{ #{name}.{method} }}", signature(method, function)]
            lines.append(body(inspect.getdoc(function) or ""))
    elif callable(value):
        lines += [signature(name.rpartition(".")[2], value), body(inspect.getdoc(value) or "")]
    elif isinstance(value, Mapping):
        lines.append(f"A mapping with the keys {', '.join(f'`{key}`' for key in value)}.")
    else:
        lines.append(f"`{value}`, a [`sw.{type(value).__name__}`](#{type(value).__name__}).")
    return "\n\n".join(line for line in lines if line)


def pages() -> dict[str, str]:
    """Return the text of each page by its name, ``index`` included."""
    found = entries()
    first: dict[int, Entry] = {}
    for entry in found:
        first.setdefault(id(entry.value), entry)
    order = [page for page in TITLES if any(entry.page == page for entry in found)]
    order += sorted({entry.page for entry in found} - set(order))
    texts = {}
    index = ["# Reference", "Every public name, with `import shardwise as sw`. Made from the docstrings."]
    for page in order:
        title = TITLES.get(page, page.capitalize())
        here = [entry for entry in found if entry.page == page]
        parts = [f"# {title}"]
        if page in NAMES:
            parts.append(f"`sw.{page}`: {markdown(inspect.getdoc(getattr(sw, page)) or '')}")
        texts[page] = (
            "\n\n".join([*parts, *(written(entry, first[id(entry.value)]) for entry in here)]) + "\n"
        )
        links = [f"[`{entry.name}`]({page}.md#{entry.name})" for entry in here]
        index += [f"## [{title}]({page}.md)", " · ".join(links)]
    return texts | {"index": "\n\n".join(index) + "\n"}


def write_pages(folder: Path = FOLDER) -> list[Path]:
    """Write all pages into a folder and return them; pages of groups that are no more are removed."""
    folder.mkdir(exist_ok=True)
    texts = pages()
    for old in folder.glob("*.md"):
        if old.stem not in texts:
            old.unlink()
    for page, text in texts.items():
        (folder / f"{page}.md").write_text(text)
    return [folder / f"{page}.md" for page in texts]


if __name__ == "__main__":
    print(f"{len(write_pages())} pages in {FOLDER}")
