"""The literature behind the methods, for the bibliography of a paper: the entries of sources.bib."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

from shardwise.methods.names import list_methods


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of the bibliography."""

    bibtex: str

    @property
    def key(self) -> str:
        """The name that it is cited by in LaTeX."""
        return self.bibtex.partition("{")[2].partition(",")[0]

    @property
    def citation(self) -> str:
        """How running text cites it.

        >>> [SOURCES[key].citation for key in ("Scheffe1953", "FerroSanderson2019", "VoorheesEtAl2017")]
        ['Scheffé, 1953', 'Ferro & Sanderson, 2019', 'Voorhees et al., 2017']
        """
        fields = dict(
            re.findall(r"^  (\w+) += \{(.*)\},?$", self.bibtex.replace(r"{\'e}", "é"), re.MULTILINE)
        )
        names = [name.split()[-1] for name in fields["author"].split(" and ")]
        who = " & ".join(names) if len(names) < 3 else f"{names[0]} et al."
        return f"{who}, {fields['year']}"


_ENTRIES = resources.files("shardwise.writing").joinpath("sources.bib").read_text(encoding="utf-8")
SOURCES = {source.key: source for source in map(Reference, _ENTRIES.strip().split("\n\n"))}


def find_source(key: str) -> Reference:
    """Return the source of a key: of the common bibliography, or of the method that brings it along.

    Parameters
    ----------
    key : str
        The name that it is cited by.

    Returns
    -------
    Source
        Its entry.
    """
    if key in SOURCES:
        return SOURCES[key]
    entries = (entry for method in list_methods() for entry in method.bibliography.strip().split("\n\n"))
    brought = {source.key: source for source in map(Reference, filter(None, entries))}
    return brought[key]
