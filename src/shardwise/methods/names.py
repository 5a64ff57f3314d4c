r"""Parse the names of procedures, *rule? method word\* correction? claim?*, and list the methods they are made of.

>>> print(parse_procedure("MD6 hsd topic").title)
MD6 analysis of variance, Tukey HSD, for new topics like these

Define a procedure: a method, a correction and a claim, under a name made of them. It holds no mathematics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arrays import Ints
from shardwise.core.claim import SAMPLED, THESE, Claim, pluralize_noun
from shardwise.core.errors import InputError, Words
from shardwise.methods.method import Clause, Method
from shardwise.methods.pairs import JOINT, Means, Pairs
from shardwise.methods.splits import (
    COMBINED,
    RULES,
    average_splits,
    combine_pairs,
    pool_splits,
    stack_means,
    stack_pairs,
)
from shardwise.methods.tables import LAYOUT_NAMES, LAYOUTS, SHARDS, SPLITS, TABLE, Dims, Tables, read_table
from shardwise.stats.corrections import CORRECTIONS, SIMULTANEOUS

AVERAGED = ("", "mean")
"""Rules over splits that average: all splits at once, or the estimates of each."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way of deciding all pairs of systems, with the error rate that it controls.

    The laboratory calibrates, ``compare`` runs, the docs recommend and the report names this object, and all of them
    run `decide`.

    Parameters
    ----------
    method : Method
        What turns tables into estimates.
    correction : str
        Name of the correction; empty for tests corrected by construction.
    claim : Claim
        What a difference is about.
    rule : str
        How several splits become one answer; empty for tables of one split, or methods that take all at once.
    """

    method: Method
    correction: str
    claim: Claim
    rule: str = ""

    @property
    def name(self) -> str:
        """What a user types: ``MD6 hsd topic+shard``, ``t holm``, ``max-t``."""
        claim = self.claim.name if self.claim != self.method.default_claim else ""
        correction = self.correction if len(self.method.corrections) > 1 else ""
        return " ".join(part for part in (self.rule, self.method.name, correction, claim) if part)

    @property
    def plain_title(self) -> str:
        """The procedure in words, without its claim."""
        words = self.method.title
        if self.correction in SIMULTANEOUS:
            words += f", {CORRECTIONS[self.correction].title}" if len(self.method.corrections) > 1 else ""
        elif self.correction not in (JOINT, "none"):
            words += f" with {CORRECTIONS[self.correction].title}"
        elif self.correction == "none" and JOINT in self.method.corrections:
            words += ", each pair by itself"
        return f"{RULES[self.rule].title}: {words}" if self.rule else words

    @property
    def title(self) -> str:
        """The procedure in words."""
        claim = f", for {self.claim.phrase()}" if self.claim != self.method.default_claim else ""
        return f"{self.plain_title}{claim}"

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts of tables that it takes."""
        return (SPLITS,) if self.rule else self.method.layouts_for(self.claim)

    @property
    def takes(self) -> str:
        """The layouts that it takes, in words."""
        return " or ".join(" × ".join(pluralize_noun(dim) for dim in layout) for layout in self.layouts)

    @property
    def error_rate(self) -> str:
        """The error rate that it controls at alpha: "family", "discovery" or "pair"."""
        return "family" if self.correction == JOINT else CORRECTIONS[self.correction].error_rate

    @property
    def source(self) -> str:
        """The tag of the paper that uses it, if one of the five does."""
        if self.rule:
            return "V17" if self.rule == "unanimous" else ""
        known = dict(self.method.papers).get(self.correction, "")
        return known if self.claim == self.method.default_claim else ""

    @property
    def draws(self) -> bool:
        """Whether p-values come from resamples."""
        return self.method.draws(self.correction)

    @property
    def on_one_split(self) -> Procedure:
        """The same for a single split."""
        return replace(self, rule="")

    def __str__(self) -> str:
        return self.name

    def clause(self, systems: int) -> Clause:
        """Say what pairs of so many systems are compared with, before any correction for their number.

        Parameters
        ----------
        systems : int
            Number of systems.

        Returns
        -------
        Clause
        """
        return self.method.clause(self.correction, self.claim, systems)

    def estimate(self, tables: Tables) -> Means:
        """Estimate the means of many tables for the claim, made once for all corrections.

        Parameters
        ----------
        tables : Tables
            Tables of a layout that the procedure takes.

        Returns
        -------
        Means
            Arrays with one entry a table.
        """
        self._check_layout(tables)
        if self.rule == "first":
            return self.on_one_split.estimate(tables.first_split())
        if self.rule:
            return tables.once(
                (self.rule in AVERAGED, self.method, self.claim), lambda: self._estimate_splits(tables)
            )
        return tables.once(("estimates", self.method, self.claim), lambda: self._estimate_once(tables))

    def _estimate_once(self, tables: Tables) -> Means:
        """Means by the method, with the number of scores behind each mean."""
        method = self.method
        if method.needs_all:
            tables.require_complete(f"the {method.title}")
        estimates = method.means(tables, self.claim)
        if method.pairs is not None:
            estimates = replace(estimates, pairs=partial(method.pairs, tables, self.claim))
        if estimates.own_count is not None:
            return estimates
        over_topics = "topic" in self.claim
        y, axis = (tables.topic_means(), 2) if over_topics else (tables.y, 1 + tables.dims.index("system"))
        others = tuple(k for k in range(1, y.ndim) if k != axis)
        return replace(estimates, own_count=np.isfinite(y).sum(axis=others).astype(np.float64))

    def _estimate_splits(self, tables: Tables) -> Means:
        """Means of every split averaged, with their variance where the rule averages."""
        splits = tables.shape["split"]
        estimates = self._take_splits(tables, self.on_one_split.estimate, stack_means)
        if self.rule in AVERAGED:
            return average_splits(estimates, splits)
        return pool_splits(estimates, splits, tables.topic_means())

    def _take_splits(
        self, tables: Tables, run: Callable[[Tables], Any], stack: Callable[[list[Any]], Any]
    ) -> Any:
        """What a function says of all splits together, or one by one where a model is fitted to cells with gaps."""
        each = tables.each_split()
        if each.complete or not self.method.fits_cells:
            return run(each)
        return stack([run(table) for table in each.single_tables()])

    def decide(self, tables: Tables, pairs: tuple[Ints, Ints] | None = None) -> Pairs:
        """Decide pairs of systems of many tables; ``compare`` has a batch of one.

        Parameters
        ----------
        tables : Tables
            Tables of a layout that the procedure takes.
        pairs : tuple of arrays, optional
            Numbers of the first and of the second system of each pair; all pairs without it, or those of the first
            system where the correction is Dunnett's.

        Returns
        -------
        Pairs
            (B, P) figures of the pairs asked for, corrected.
        """
        self._check_layout(tables)
        if pairs is None and self.correction == "dunnett":
            pairs = np.zeros(tables.systems - 1, dtype=np.int64), np.arange(1, tables.systems)
        if self.rule == "first":
            return self.on_one_split.decide(tables.first_split(), pairs)
        if self.rule not in AVERAGED:
            # one decision on each pair out of those on every split
            combined = self.rule in COMBINED
            inner = replace(self.on_one_split, correction="none") if combined else self.on_one_split
            asked = None if pairs is None else tuple(np.concatenate(pairs).tolist())
            each_pair = tables.once(
                ("splits", inner, asked),
                lambda: self._take_splits(tables, lambda each: inner.decide(each, pairs), stack_pairs),
            )
            return combine_pairs(self.rule, each_pair, tables.shape["split"], self.correction)
        estimates = self.estimate(tables)
        test = estimates.pairs or estimates.test_by_variance
        if pairs is None:
            key = ("pairs", self.rule, self.method, self.claim)
            tested = tables.once(key, lambda: test(*tables.pairs))
        else:
            tested = test(*pairs)
        return tested.correct(self.correction, *(pairs or tables.pairs), estimates)

    def _check_layout(self, tables: Tables) -> None:
        if tables.dims not in self.layouts:
            raise self.make_refusal(f"cannot take {' × '.join(tables.dims)}", f"it takes {self.takes}")

    def make_refusal(self, problem: str, remedy: Words) -> InputError:
        """Return the refusal of a method that does not fit: its name, what is wrong and what to do.

        Parameters
        ----------
        problem : str
            What is wrong, after the name of the procedure.
        remedy : str or tuple
            What to do about it.

        Returns
        -------
        InputError
            The refusal.
        """
        return InputError(f"{self.name} {problem}", remedy=remedy, argument="method", value=self.name)

    def for_layout(self, dims: Dims) -> Procedure:
        """Return the procedure for a layout: of several splits by their mean, or else by p-values, if made for one.

        Parameters
        ----------
        dims : tuple of str
            Dimensions of the scores.

        Returns
        -------
        Procedure
            The procedure itself where it takes the layout, or has no rule for it.
        """
        if dims != SPLITS or dims in self.layouts or SHARDS not in self.layouts:
            return self
        rules = self.method.split_rules(self.correction, self.claim)
        return replace(self, rule=next((rule for rule in ("mean", "quantile") if rule in rules), ""))


ENTRY_POINTS = "shardwise.methods"
"""The group of entry points by which other packages add methods."""
FAMILIES = ("moderated", "paired", "repeats", "anova", "bootstrap", "unpaired", "judges", "votes")
"""The packages of methods; a name is looked for in this order, and no further family is loaded once it is found."""


class Default(NamedTuple):
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


DEFAULTS = {LAYOUT_NAMES[name]: Default(**row) for name, row in read_table("defaults").items()}
"""The defaults of each layout."""
OF_SAMPLES = "moderated samples"
"""The default where instances are samples, drawn anew for each topic."""
OF_PEOPLE = "ppi holm"
"""The default where people scored some items beside a judge."""
OF_VOTES = "bradley-terry"
"""The default for votes on pairs of systems."""
OF_UNPAIRED = {True: "welch holm", False: "games-howell"}
"""The default where no item has scores of two systems, by whether there are only two."""
PLAIN = {"friedman": "friedman nemenyi"}
"""Names that stand for a method of more words."""
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
def _family_methods(family: str) -> dict[str, Method]:
    """Return the methods of a family by name in small letters; those of installed plugins are a family too."""
    if family == ENTRY_POINTS:
        methods = [method for plugin in entry_points(group=ENTRY_POINTS) for method in plugin.load()]
    else:
        methods = import_module(f"shardwise.methods.{family}.method").METHODS
    return {method.name.casefold(): method for method in methods}


def _find_method(name: str) -> Method | None:
    """Return the method of a name in small letters."""
    name = PLAIN.get(name, name)
    for method in _ADDED:
        if method.name.casefold() == name:
            return method
    for family in (*FAMILIES, ENTRY_POINTS):
        if name in _family_methods(family):
            return _family_methods(family)[name]
    # a bootstrap has more variants than are listed
    bootstrap: Method | None = import_module("shardwise.methods.bootstrap.method").parse_bootstrap(
        name.split()
    )
    return bootstrap


def list_methods() -> tuple[Method, ...]:
    """Return every method that procedures are made of.

    Returns
    -------
    tuple of Method
        Those of the package, of installed plugins, and those added by `register_method`.
    """
    families = (*sorted(FAMILIES), ENTRY_POINTS)
    return (*(method for family in families for method in _family_methods(family).values()), *_ADDED)


def list_procedures(dims: Dims | None = None) -> dict[str, Procedure]:
    """Return every procedure by its full name, or those for tables of these dimensions.

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
    if dims is not None and tuple(dims) not in LAYOUTS:
        layouts = "; ".join(", ".join(layout) for layout in LAYOUTS)
        raise InputError(f"unknown layout {', '.join(dims)}", remedy=f"use one of: {layouts}")
    made = (procedure for method in list_methods() for procedure in _list_variants(method))
    return {
        procedure.name: procedure for procedure in made if dims is None or tuple(dims) in procedure.layouts
    }


def _list_variants(method: Method) -> Iterator[Procedure]:
    """Yield the procedures of a method: all claims, corrections and rules over splits."""
    for claim in method.claims:
        for correction in method.corrections_for(claim):
            for rule in ("", *method.split_rules(correction, claim)):
                yield Procedure(method, correction, claim, rule)


def complete_name(typed: str) -> list[str]:
    """Return how a name can go on: methods that nobody is warned of, then their corrections and claims.

    >>> complete_name("wil"), complete_name("MD1 h"), complete_name("stratified by th")
    (['wilcoxon'], ['MD1 hsd', 'MD1 holm'], ['stratified by these'])
    """
    begun = typed.casefold()
    *words, _ = begun.split(" ")
    method = _find_method(" ".join(word for word in words if word not in CORRECTIONS))
    names = [known.name for known in list_methods() if not known.warned]
    if method is not None:
        prefix = " ".join([method.name, *(word for word in words if word in CORRECTIONS)])
        corrections = () if words[-1] in CORRECTIONS else method.corrections
        names += [
            f"{prefix} {word}" for word in (*corrections, *(claim.name for claim in method.claims)) if word
        ]
    return [name for name in names if name.casefold().startswith(begun)]


def parse_procedure(
    name: str | Procedure,
    dims: Dims | None = None,
    default: Callable[[], str] | None = None,
    suits: Callable[[Procedure], bool] | None = None,
) -> Procedure:
    """Return the procedure of a name, in any case and with any spaces.

    Parameters
    ----------
    name : str or Procedure
        *rule? method word\\* correction? claim?*, such as ``t``, ``MD6 hsd topic+shard`` or ``max-t``; a procedure is
        returned as it is. Without a correction the method's default one is meant, without a claim its first one.
    dims : tuple of str, optional
        Layout of the scores, for corrections that belong to an analysis of variance, and for suggestions.
    default : callable, optional
        Returns the name of the default procedure of the scores, whose test a correction alone means.
    suits : callable, optional
        Whether a procedure runs on the scores; what is suggested does.

    Returns
    -------
    Procedure
        The procedure of that name.

    >>> parse_procedure("md1  HSD").name, parse_procedure("wilcoxon").name, parse_procedure("MD1").name
    ('MD1 hsd', 'wilcoxon holm', 'MD1 hsd')
    >>> parse_procedure("holm", ("topic", "system"), lambda: "moderated").name
    'moderated holm'
    """
    if isinstance(name, Procedure):
        return name
    words = str(name).casefold().split()
    rule = words.pop(0) if words and words[0] in RULES else ""
    last = words[-1] if words else ""
    over = words.pop() if words and (last == THESE[0] or set(last.split("+")) <= set(SAMPLED)) else None
    correction = words.pop() if words and words[-1] in CORRECTIONS else None
    usual = None
    if words:
        method = _find_method(" ".join(words))
    elif correction is None or default is None:
        method = None
    else:
        usual = parse_procedure(default())
        # a correction alone means the default test, or the ANOVA that it belongs to
        method = usual.method
        if correction not in method.corrections:
            name_of_test = ""
            if method.takes_single_items:
                name_of_test = "games-howell" if correction == "hsd" else "welch"
            elif correction in SIMULTANEOUS and not method.uses_people and not method.uses_votes:
                name_of_test = "md6" if "shard" in (dims or TABLE) else "md1"
            method = _find_method(name_of_test) or method
        correction = JOINT if method.corrections == (JOINT,) else correction
    if method is None:
        raise _refuse_unknown_name(str(name), dims, suits)
    claim = usual.claim if usual is not None and method == usual.method else method.default_claim
    claim = claim if over is None else Claim.of(over)
    if claim not in method.claims:
        known = " or ".join(known.name for known in method.claims)
        problem = f"{method.name} cannot support the claim {over!r}"
        raise InputError(problem, remedy=f"use {known}", argument="method", value=name)
    offered = method.corrections_for(claim)
    if correction is None:
        usual_ones = (method.default_correction, JOINT, "hsd", "holm", *offered)
        correction = next(name for name in usual_ones if name in offered)
    if correction not in offered:
        remedy = f"use {', '.join(filter(None, offered))}" if any(offered) else "name it without a correction"
        problem = f"{method.name} cannot take {correction}"
        raise InputError(problem, remedy=remedy, argument="method", value=name, choices=offered)
    rules = method.split_rules(correction, claim)
    if rule and rule not in rules:
        remedy = f"use {', '.join(rules)}" if rules else "leave the rule out"
        problem = f"{method.name} {correction} cannot take the rule {rule!r}"
        raise InputError(problem, remedy=remedy, argument="method", value=name)
    return Procedure(method, correction, claim, rule)


def _refuse_unknown_name(
    name: str, dims: Dims | None, suits: Callable[[Procedure], bool] | None
) -> InputError:
    """Return the refusal of a name, with names like it that nobody is warned of and that run on the scores."""
    if name.casefold() in CORRECTIONS:
        return InputError(
            f"{name} is a correction",
            remedy=f"name a test with it, such as 'moderated {name}'",
            argument="method",
        )
    offered = [method for method in list_methods() if not method.warned]
    if dims is not None:
        offered = [
            method
            for method in offered
            if any(tuple(dims) in variant.layouts for variant in _list_variants(method))
        ]
    plain = {method.name.casefold(): method.name for method in offered}
    plain |= {
        variant.name.casefold(): variant.name for method in offered for variant in _list_variants(method)
    }
    near = [plain[key] for key in get_close_matches(name.casefold(), plain, n=12, cutoff=0.5)]
    if suits is not None:
        near = [known for known in near if suits(parse_procedure(known))]
    remedy = (
        f"did you mean {' or '.join(map(repr, near[:4]))}?"
        if near
        else "examples are 'moderated', 't holm' and 'MD6 hsd topic'"
    )
    return InputError(
        f"unknown method {name!r}", remedy=remedy, argument="method", value=name, choices=near[:4]
    )


def list_claims(procedure: Procedure, dims: Dims) -> dict[Claim, Procedure]:
    """Return the procedure for every claim about tables of these dimensions that its method supports.

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
