"""Write the section of all methods in ``docs/methods.md``, made from the facts of the Method classes.

``python docs/make_methods.py`` writes it; a test compares. Methods of plug-ins that are installed appear as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from shardwise.methods.method import Clause, Method
from shardwise.methods.names import list_methods
from shardwise.methods.pairs import JOINT
from shardwise.methods.tables import LAYOUTS
from shardwise.stats.corrections import CORRECTIONS, STEPWISE
from shardwise.writing.methods import find_source

PAGE = Path(__file__).parent / "methods.md"
MARKS = ("<!-- every method -->\n", "<!-- end of the methods -->\n")
TITLES = {
    "moderated": "Moderated tests",
    "paired": "Classic tests of pairs",
    "anova": "Analysis of variance",
    "bootstrap": "Bootstrap ANOVA",
    "repeats": "Tests of repeats",
    "judges": "Judges corrected by people",
    "votes": "Votes",
    "unpaired": "Unpaired scores",
}
ERROR_RATES = {
    "family": "family-wise error",
    "discovery": "false discovery rate",
    "pair": "error of each pair by itself",
}
NOUNS = {"instance": "repeat"}
WORDS = {
    "topic": "topic",
    "topics": "topics",
    "system": "system",
    "systems": "systems",
    "shard": "shard",
    "shards": "shards",
    "instance": "repeat",
    "instances": "repeats",
    "resamples": "B",
}


def name_family(method: Method) -> str:
    """Return the family of a method: the package of ours that it is in, or the package that brings it.

    Parameters
    ----------
    method : Method
        Any method.

    Returns
    -------
    str
    """
    parts = type(method).__module__.split(".")
    return parts[2] if parts[:2] == ["shardwise", "methods"] else parts[0]


def name_layouts(methods: Iterable[Method]) -> str:
    """Return the layouts of tables that methods take, in words.

    Parameters
    ----------
    methods : iterable of Method
        Methods of one entry.

    Returns
    -------
    str
    """
    layouts = dict.fromkeys(dims for method in methods for dims in method.layouts)
    if set(layouts) == set(LAYOUTS):
        return "any"
    return "; ".join(" × ".join(NOUNS.get(dim, dim) for dim in dims) for dims in layouts)


def name_corrections(corrections: tuple[str, ...]) -> str:
    """Return the corrections that can follow a method; all stepwise ones by one word.

    Parameters
    ----------
    corrections : tuple of str
        Names, an empty one for a test corrected by construction.

    Returns
    -------
    str

    >>> name_corrections(("", "holm"))
    'built in, `holm`'
    """
    if set(corrections) == set(CORRECTIONS):
        return "any"
    stepwise = set(STEPWISE) <= set(corrections)
    names = [name for name in corrections if not (stepwise and name in STEPWISE)]
    shown = [f"`{name}`" if name != JOINT else "built in" for name in names]
    return ", ".join([*shown, *(["stepwise"] if stepwise else [])])


def fill_words(text: str) -> str:
    """Put plain nouns into a clause.

    Parameters
    ----------
    text : str
        Text with places such as ``{topics}``.

    Returns
    -------
    str

    >>> fill_words("paired t-tests over {topics}")
    'paired t-tests over topics'
    """
    return text.format(**WORDS)


def cite(clause: Clause) -> str:
    """Return the sources of a clause as running text.

    Parameters
    ----------
    clause : Clause
        A clause with its citations.

    Returns
    -------
    str
    """
    return "; ".join(find_source(key).citation for key in clause.citations)


def list_facts(method: Method) -> dict[str, str]:
    """Return the facts of a method as the page shows them, in order; empty ones are left out.

    Parameters
    ----------
    method : Method
        Any method.

    Returns
    -------
    dict
    """
    clause = method.clause(method.corrections_for(method.default_claim)[0], method.default_claim, 3)
    gaps = [claim.phrase(NOUNS) for claim in method.claims if method.takes_gaps_for(claim)]
    missing = ""
    if gaps:
        missing = "left out" if len(gaps) == len(method.claims) else f"left out for {'; '.join(gaps)}"
    facts = {
        "compares with": fill_words(clause.text),
        "formula": f"`{method.formula}`" if method.formula else "",
        "applies to": "; ".join(claim.phrase(NOUNS) for claim in method.claims),
        "tables": name_layouts([method]),
        "corrections": name_corrections(method.corrections),
        "missing scores": missing or "refused",
        "source": cite(clause),
        "limits": method.limits,
    }
    return {name: text for name, text in facts.items() if text}


def write_entry(methods: list[Method]) -> str:
    """Return the entry of methods that differ in their names alone.

    Parameters
    ----------
    methods : list of Method
        Methods with the same reason, formula and limits.

    Returns
    -------
    str
    """
    first = methods[0]
    heading = ", ".join(f"`{method.name}`" for method in methods)
    anchor = first.name.replace(" ", "-").lower()
    facts = list_facts(first)
    facts["tables"] = name_layouts(methods)
    lines = [f"#### {heading} {{ #{anchor} }}", ""]
    reason = fill_words(first.reason)
    lines += [f"{first.title[:1].upper()}{first.title[1:]}: {reason}.", "", "| | |", "|---|---|"]
    # a bar would end the cell, and programs differ in how one is escaped within code
    cells = {name: text.replace("|", "∣") for name, text in facts.items()}
    return "\n".join([*lines, *(f"| {name} | {text} |" for name, text in cells.items())])


def write_families(methods: Iterable[Method]) -> str:
    """Return one section a family, each method with its facts.

    Parameters
    ----------
    methods : iterable of Method
        Methods in any order.

    Returns
    -------
    str
    """
    order = {family: place for place, family in enumerate(TITLES)}
    ordered = sorted(methods, key=lambda method: order.get(name_family(method), len(order)))
    parts = []
    for family, members in groupby(ordered, name_family):
        parts.append(f"### {TITLES.get(family, family.capitalize())}")
        groups: dict[tuple[str, ...], list[Method]] = {}
        for method in members:
            alike = (method.reason, method.formula, method.limits)
            groups.setdefault(alike if method.formula else (method.name,), []).append(method)
        parts += [write_entry(group) for group in groups.values()]
    return "\n\n".join(parts)


def write_corrections() -> str:
    """Return the table of corrections.

    Returns
    -------
    str
    """
    rows = []
    for name, correction in CORRECTIONS.items():
        sources = cite(Clause("", correction.citations))
        rows.append(f"| `{name}` | {correction.title} | {ERROR_RATES[correction.error_rate]} | {sources} |")
    return "\n".join(["| name | correction | controls | source |", "|---|---|---|---|", *rows])


def write_page(page: str) -> str:
    """Return the page with the section of all methods made anew.

    Parameters
    ----------
    page : str
        Text of the page, with the two marks.

    Returns
    -------
    str
    """
    start, end = MARKS
    made = f"{start}### Corrections\n\n{write_corrections()}\n\n{write_families(list_methods())}\n{end}"
    return re.sub(f"{re.escape(start)}.*{re.escape(end)}", lambda match: made, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(write_page(PAGE.read_text("utf-8")), "utf-8")
