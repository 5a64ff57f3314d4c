"""Every procedure by name: the one vocabulary of methods, for the laboratory, ``compare``, the docs and the report.

>>> print(parse("MD6 hsd topic").title)
MD6, Tukey HSD, for topics like these
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache

from shardwise.comparing.decisions import JOINT
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import MD1, MD2, MD3, MD6, NAMED
from shardwise.methods.anova.method import READINGS, USUAL_READINGS, ByBootstrap, ByModel
from shardwise.methods.judges.method import ByJudge
from shardwise.methods.moderated.method import MODERATED, ByStratified
from shardwise.methods.paired.method import TESTS, ByTopics
from shardwise.methods.repeats.method import PAIRWISE, ByMixed
from shardwise.methods.tables import INSTANCES, LAYOUTS, SHARDS, SPLITS, TABLE, Dims
from shardwise.procedures.procedure import Fit, Procedure

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
        "moderated",
        "moderated holm",
        "moderated bh",
        "moderated none",
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
        "moderated",
        "moderated bh",
        "moderated holm these",
        "moderated bh these",
        "moderated topic+shard",
        "moderated bh topic+shard",
        "stratified holm",
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
        "samples holm",
        "moderated topic+instance",
        "moderated bh topic+instance",
        "moderated none topic+instance",
        "moderated samples",
    ),
    SPLITS: (
        "moderated",
        "moderated bh",
        "mean moderated holm these",
        "mean MD6 hsd",
        "mean MD6 hsd topic",
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
        "quantile MD3 bh",
        "quantile MD6 bh topic",
    ),
}
BOOTSTRAPPED = (MD1, MD2, MD3, MD6)  # the models that the papers bootstrap
WITHIN = ("hsd", "bh", "holm")  # corrections within a split
AFTER = ("bh", "holm", "none")  # corrections of a combined p-value


def fits() -> tuple[Fit, ...]:
    """Every fit that procedures are made of."""
    return (
        *(ByModel(model) for model in NAMED.values()),
        *(ByBootstrap(model, reading) for model in BOOTSTRAPPED for reading in USUAL_READINGS),
        *(ByTopics(test) for test in TESTS),
        *MODERATED,
        ByStratified(),
        ByJudge(),
        ByMixed(),
        *PAIRWISE,
    )


def _procedures() -> Iterator[Procedure]:
    for fit in fits():
        for claim in fit.claims:
            for correction in fit.corrections:
                yield Procedure(fit, correction, claim)
                if averages(fit) and correction != JOINT:
                    yield Procedure(fit, correction, claim, "mean")
                if not isinstance(fit, ByModel | ByBootstrap) or fit.model == MD1:
                    continue
                for rule in ("first", "unanimous", "majority"):
                    if correction in WITHIN:
                        yield Procedure(fit, correction, claim, rule)
                for rule in ("harmonic", "cauchy", "quantile"):
                    if correction in AFTER:
                        yield Procedure(fit, correction, claim, rule)


@lru_cache(maxsize=1)
def everything() -> dict[str, Procedure]:
    """All procedures by name."""
    return {one.name: one for one in _procedures()}


@lru_cache(maxsize=1)
def _plain_names() -> dict[str, str]:
    """All names by themselves without capital letters."""
    return {key.casefold(): key for key in everything()}


def available(dims: Dims) -> dict[str, Procedure]:
    """Return all procedures that can take tables of these dimensions, by name.

    Parameters
    ----------
    dims
        The layout of a table, such as ``("topic", "system", "shard")``.

    >>> "MD6 holm topic+shard" in available(("topic", "system", "shard"))
    True
    """
    if tuple(dims) not in LAYOUTS:
        known = "; ".join(", ".join(layout) for layout in LAYOUTS)
        raise InputError(f"no layout is {', '.join(dims)}", remedy=f"the layouts are {known}")
    return {name: one for name, one in everything().items() if tuple(dims) in one.dims}


def averages(fit: Fit) -> bool:
    """Whether estimates of splits can be averaged: a fit of the shards of one split, by variances."""
    return SHARDS in fit.layouts and SPLITS not in fit.layouts and not isinstance(fit, ByBootstrap)


def of_all_splits(procedure: Procedure) -> Procedure:
    """The procedure for several splits, where it is made for one: the mean, or for p-values alone their quantile.

    >>> of_all_splits(parse("MD6 hsd")).name, of_all_splits(parse("t holm")).name
    ('mean MD6 hsd', 't holm')
    """
    if procedure.rule or SPLITS in procedure.dims or SHARDS not in procedure.dims:
        return procedure
    if averages(procedure.fit) and procedure.correction != JOINT:
        return replace(procedure, rule="mean")
    return replace(procedure, rule="quantile") if isinstance(procedure.fit, ByBootstrap) else procedure


def for_claims(procedure: Procedure, dims: Dims) -> dict[Claim, Procedure]:
    """The procedure for every claim about tables of these dimensions that it can speak of.

    >>> [claim.name for claim in for_claims(parse("moderated"), ("topic", "system", "shard"))]
    ['topic', 'topic+shard', 'these']
    """
    own = {claim: replace(procedure, claim=claim) for claim in procedure.fit.claims}
    others = {
        one.claim: one
        for one in everything().values()
        if (one.fit.name, one.rule) == (procedure.fit.name, procedure.rule)
        and one.correction
        == (procedure.correction if procedure.correction in one.fit.corrections else "holm")
    }
    return {claim: one for claim, one in {**own, **others}.items() if tuple(dims) in one.dims}


def common_error(procedure: Procedure) -> bool:
    """Whether one error serves all pairs, so that systems are taken to vary alike.

    >>> common_error(parse("MD1 hsd topic")), common_error(parse("t holm"))
    (True, False)
    """
    fit = procedure.fit
    return isinstance(fit, ByModel | ByBootstrap | ByMixed) or fit.name == "tukey"


def _bootstrapped(words: list[str]) -> Procedure | None:
    """A bootstrap of any of the papers' models in any reading, drawn or ideal: too many to be listed."""
    drawn = "drawn" in words[3:-1]
    plain = [word for word in words if word != "drawn"]
    if len(plain) != 4 or plain[0] != "banova" or plain[1].upper() not in NAMED or plain[2] not in READINGS:
        return None
    fit = ByBootstrap(NAMED[plain[1].upper()], plain[2], drawn)
    return Procedure(fit, plain[3], Claim()) if plain[3] in fit.corrections else None


def parse(name: str | Procedure) -> Procedure:
    """Return the procedure of a name, whatever the case and the spaces.

    Parameters
    ----------
    name
        Such as ``MD6 hsd topic+shard``, ``t holm`` or ``max-t``; a procedure is returned as it is.

    >>> parse("md1  HSD").name
    'MD1 hsd'
    """
    if isinstance(name, Procedure):
        return name
    known, plain = everything(), _plain_names()
    asked = " ".join(str(name).split()).casefold()
    if asked not in plain and (other := _bootstrapped(asked.split())) is not None:
        return other
    if asked not in plain:
        near = [plain[key] for key in get_close_matches(asked, plain, n=4, cutoff=0.5)]
        remedy = (
            f"near it are {', '.join(map(repr, near))}" if near else "examples are 'MD6 hsd topic', 't holm'"
        )
        raise InputError(
            f"no procedure is called {name!r}", remedy=remedy, argument="method", value=name, choices=near
        )
    return known[plain[asked]]
