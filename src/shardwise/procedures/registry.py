"""Every way the package has of deciding which systems differ, by a name that can be typed.

>>> print(parse_procedure("MD6 hsd topic").title)
MD6, Tukey HSD, for topics like these
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache

from shardwise.core.errors import InputError
from shardwise.procedures.anova import anova_procedures
from shardwise.procedures.batch import (
    INSTANCES,
    LAYOUTS,
    SHARDS,
    SPLITS,
    TABLE,
    Batch,
    Decisions,
    Dims,
    Procedure,
    decide_all,
    decide_on,
)
from shardwise.procedures.bootstrap import bootstrap_procedures
from shardwise.procedures.instances import instance_procedures
from shardwise.procedures.paired import RESAMPLES, paired_procedures
from shardwise.procedures.splits import split_procedures

__all__ = [
    "DEFAULT",
    "RESAMPLES",
    "Batch",
    "Decisions",
    "Procedure",
    "decide_all",
    "decide_on",
    "parse_procedure",
    "procedures",
]

# What a user would want to see side by side: the papers' procedures, and the sound ones for each claim.
DEFAULT: dict[Dims, tuple[str, ...]] = {
    TABLE: (
        "MD1 hsd topic",
        "MD1 holm topic",
        "MD1 bh topic",
        "banova MD1 difference bh",
        "banova MD1 marginal-1 bh",
        "t none",
        "t holm",
        "t bh",
        "unpaired-t none",
        "wilcoxon holm",
        "randomization none",
        "tukey",
        "max-t",
    ),
    SHARDS: (
        "MD1 hsd topic",
        "MD2 hsd",
        "MD3 hsd",
        "MD3 bh",
        "MD6 hsd",
        "MD6 bh",
        "MD6 hsd topic",
        "MD6 bh topic",
        "MD6 hsd topic+shard",
        "banova MD3 marginal-1 bh",
        "banova MD6 difference bh",
        "t holm",
        "max-t",
    ),
    INSTANCES: (
        "unified none",
        "unified holm",
        "unified bh",
        "joint mixed hsd",
        "mixed paper none",
        "mixed satterthwaite none",
        "bootstrap pooled none",
        "bootstrap per-instance none",
        "bootstrap none",
        "t none",
        "t-single none",
        "t-independent none",
    ),
    SPLITS: (
        "first MD6 hsd",
        "first banova MD3 marginal-1 bh",
        "unanimous banova MD3 marginal-1 bh",
        "unanimous MD3 bh",
        "unanimous MD6 hsd",
        "unanimous MD6 hsd topic",
        "majority MD3 bh",
        "majority MD6 hsd topic",
        "harmonic MD3 bh",
        "harmonic MD6 bh topic",
        "cauchy MD3 bh",
        "cauchy MD6 bh topic",
    ),
}


@lru_cache(maxsize=8)
def _all(n_resamples: int) -> dict[str, Procedure]:
    found = (
        *anova_procedures(),
        *bootstrap_procedures(),
        *paired_procedures(n_resamples),
        *instance_procedures(n_resamples),
        *split_procedures(),
    )
    return {one.name: one for one in found}


def procedures(dims: Dims, *, n_resamples: int = RESAMPLES) -> dict[str, Procedure]:
    """All procedures that can take tables of these dimensions, by name; ``n_resamples`` is of those that draw.

    >>> len(procedures(("topic", "system"))), "MD6 holm topic+shard" in procedures(("topic", "system", "shard"))
    (63, True)
    """
    if tuple(dims) not in LAYOUTS:
        known = "; ".join(", ".join(layout) for layout in LAYOUTS)
        raise InputError(f"no layout is {', '.join(dims)}", remedy=f"the layouts are {known}")
    return {name: one for name, one in _all(_checked(n_resamples)).items() if tuple(dims) in one.dims}


def parse_procedure(name: str, *, n_resamples: int = RESAMPLES) -> Procedure:
    """The procedure of a name, whatever the case and the spaces.

    >>> parse_procedure("md1  HSD").name
    'MD1 hsd'
    """
    known = _all(_checked(n_resamples))
    plain = {key.casefold(): key for key in known}
    asked = " ".join(name.split()).casefold()
    if asked not in plain:
        near = [plain[key] for key in get_close_matches(asked, plain, n=4, cutoff=0.5)]
        remedy = (
            f"near it are {', '.join(map(repr, near))}" if near else "examples are 'MD6 hsd topic', 't holm'"
        )
        raise InputError(f"no procedure is called {name!r}", remedy=remedy)
    return known[plain[asked]]


def _checked(n_resamples: int) -> int:
    if n_resamples < 1:
        raise InputError(f"{n_resamples} resamples are too few", remedy="draw at least one")
    return n_resamples
