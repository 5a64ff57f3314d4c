"""List every method and parse the names of procedures, for the laboratory, ``compare``, the docs and the report.

>>> print(parse_procedure("MD6 hsd topic").title)
MD6 analysis of variance, Tukey HSD, for new topics like these
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

import shardwise.methods
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.methods.base import JOINT, Method
from shardwise.methods.bootstrap.method import parse_bootstrap
from shardwise.methods.procedure import Procedure
from shardwise.methods.tables import INSTANCES, LAYOUTS, SHARDS, SPLITS, TABLE, Dims
from shardwise.stats.corrections import CORRECTIONS

ENTRY_POINTS = "shardwise.methods"
"""The group of entry points by which other packages add methods."""


@dataclass(frozen=True, slots=True)
class Default:
    """What is used where nobody names a procedure.

    Parameters
    ----------
    procedure : str
        The name of the default procedure of the layout, which holds its error rate on realistic scores.
    shown : tuple of str
        What a user would want to see side by side: the papers' procedures, and the sound ones for each claim.
    """

    procedure: str
    shown: tuple[str, ...]


DEFAULTS: dict[Dims, Default] = {
    TABLE: Default(
        "moderated",
        (
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
    ),
    SHARDS: Default(
        "moderated",
        (
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
    ),
    INSTANCES: Default(
        "moderated topic+instance",
        (
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
    ),
    SPLITS: Default(
        "moderated",
        (
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
    ),
}
"""The defaults of each layout."""
OF_SAMPLES = "moderated samples"
"""The default where instances are samples, drawn anew for each topic."""
OF_PEOPLE = "ppi holm"
"""The default where people scored some items beside a judge."""
OF_VOTES = "bradley-terry"
"""The default for votes on pairs of systems."""
OF_UNPAIRED = "games-howell"
"""The default where no item has scores of two systems."""
_ADDED: list[Method] = []


def register_method(method: Method) -> None:
    """Add a method of another package, or of a notebook; entry points do the same for installed packages.

    Parameters
    ----------
    method : Method
        The method with all its facts.
    """
    _ADDED[:] = [known for known in _ADDED if known.name != method.name] + [method]


@cache
def _own_methods() -> tuple[Method, ...]:
    """The methods of every family of the package, and those of installed plugins."""
    families = sorted(module.name for module in iter_modules(shardwise.methods.__path__) if module.ispkg)
    methods: list[Method] = []
    for family in families:
        names = {module.name for module in iter_modules([f"{shardwise.methods.__path__[0]}/{family}"])}
        if "method" in names:
            methods += import_module(f"shardwise.methods.{family}.method").METHODS
    for plugin in entry_points(group=ENTRY_POINTS):
        methods += plugin.load()
    return tuple(methods)


def list_methods() -> tuple[Method, ...]:
    """Return every method that procedures are made of.

    Returns
    -------
    tuple of Method
        Those of the package, of installed plugins, and those added by `register_method`.
    """
    return (*_own_methods(), *_ADDED)


def _make_procedures(methods: Iterable[Method]) -> Iterator[Procedure]:
    for method in methods:
        for claim in method.claims:
            for correction in method.corrections_for(claim):
                yield Procedure(method, correction, claim)
                rules = ["mean"] if method.averages_splits(claim) and correction != JOINT else []
                for rule in (*rules, *method.combines_splits(correction)):
                    yield Procedure(method, correction, claim, rule)


@cache
def _procedures_by_name(methods: tuple[Method, ...], corrections: tuple[str, ...]) -> dict[str, Procedure]:
    """All procedures by name, made once for the methods and corrections that there are."""
    return {procedure.name: procedure for procedure in _make_procedures(methods)}


def list_procedures(dims: Dims | None = None) -> dict[str, Procedure]:
    """Return all procedures by name, or those for tables of these dimensions.

    Parameters
    ----------
    dims : tuple of str, optional
        The layout of a table, such as ``("topic", "system", "shard")``.

    Returns
    -------
    dict
        Procedures by name.

    >>> "MD6 holm topic+shard" in list_procedures(("topic", "system", "shard"))
    True
    """
    known = _procedures_by_name(list_methods(), tuple(CORRECTIONS))
    if dims is None:
        return known
    if tuple(dims) not in LAYOUTS:
        layouts = "; ".join(", ".join(layout) for layout in LAYOUTS)
        raise InputError(f"unknown layout {', '.join(dims)}", remedy=f"use one of: {layouts}")
    return {name: procedure for name, procedure in known.items() if tuple(dims) in procedure.layouts}


def parse_procedure(name: str | Procedure) -> Procedure:
    """Return the procedure of a name, in any case and with any spaces.

    Parameters
    ----------
    name : str or Procedure
        Such as ``MD6 hsd topic+shard``, ``t holm`` or ``max-t``; a procedure is returned as it is.

    Returns
    -------
    Procedure
        The procedure of that name.

    >>> parse_procedure("md1  HSD").name
    'MD1 hsd'
    """
    if isinstance(name, Procedure):
        return name
    known = list_procedures()
    plain = {key.casefold(): key for key in known}
    asked = " ".join(str(name).split()).casefold()
    if asked in plain:
        return known[plain[asked]]
    words = asked.split()
    bootstrap = parse_bootstrap(words[:-1])
    if bootstrap is not None and words[-1] in bootstrap.corrections:
        return Procedure(bootstrap, words[-1], bootstrap.default_claim)
    near = [plain[key] for key in get_close_matches(asked, plain, n=4, cutoff=0.5)]
    remedy = (
        f"did you mean {' or '.join(map(repr, near))}?"
        if near
        else "examples are 'moderated', 't holm' and 'MD6 hsd topic'"
    )
    raise InputError(f"unknown method {name!r}", remedy=remedy, argument="method", value=name, choices=near)


def list_claims(procedure: Procedure, dims: Dims) -> dict[Claim, Procedure]:
    """Return the procedure for every claim about tables of these dimensions that its method supports.

    Parameters
    ----------
    procedure : Procedure
        Any procedure.
    dims : tuple of str
        The layout of a table.

    Returns
    -------
    dict
        Procedures by claim; where the correction is not offered for a claim, Holm's replaces it.

    >>> [claim.name for claim in list_claims(parse_procedure("moderated"), ("topic", "system", "shard"))]
    ['topic', 'topic+shard', 'these']
    """
    method = procedure.method
    by_claim = {}
    for claim in method.claims:
        offered = method.corrections_for(claim)
        correction = procedure.correction if procedure.correction in offered else "holm"
        supported = not procedure.rule or SHARDS in method.layouts_for(claim)
        candidate = replace(procedure, claim=claim, correction=correction)
        if supported and tuple(dims) in candidate.layouts:
            by_claim[claim] = candidate
    return by_claim
