"""May the new system go out? Better, no worse, worse, or too little data to say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.analysis.figures import equated, number, p_value
from shardwise.comparing.equivalence import equivalence
from shardwise.core.claim import counted, plural
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import layout_of, level_names, nouns_of
from shardwise.core.shown import Shown
from shardwise.core.text import short
from shardwise.io.instances import DETERMINISTIC
from shardwise.planning.margins import topics_for_margin
from shardwise.procedures.vocabulary import parse

PASSING = ("better", "no worse")
MOST_TOPICS = 1e7  # beyond these a number says no more than that there are too few


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gate(Shown):
    """What the interval of the difference new - base says, given a margin that does not matter.

    Better: it lies above 0. No worse: above -margin. Worse: below 0, and not above -margin. Otherwise "underpowered"
    where so few items could not be expected to show equal systems to be no worse, and "undecided" where they could.
    """

    verdict: str
    base: str
    new: str
    measure: str
    mean_base: float
    mean_new: float
    difference: float
    lower: float
    upper: float
    p: float
    margin: float
    alpha: float
    power: float
    items: int
    needed: float  # items that would show equal systems to be no worse; infinite where none would
    noun: str  # the user's word for an item
    instance: str  # and for an instance
    claim: str
    procedure: str

    @property
    def passes(self) -> bool:
        """Whether the new system is better or no worse."""
        return self.verdict in PASSING

    def to_frame(self) -> pd.DataFrame:
        """Return all figures as one row."""
        names = (
            "base",
            "new",
            "mean_base",
            "mean_new",
            "difference",
            "lower",
            "upper",
            "p",
            "verdict",
            "items",
        )
        needed = int(self.needed) if self.needed <= MOST_TOPICS else float("nan")
        return pd.DataFrame([{name: getattr(self, name) for name in names} | {"needed": needed}])

    def sentence(self) -> str:
        """What may be said, in one sentence."""
        new, base, m = short(self.new), short(self.base), f"{self.margin:g}"
        if self.verdict == "better":
            return f"{new} is better than {base}."
        if self.verdict == "no worse":
            return f"{new} is no worse than {base}: it loses less than {m}."
        if self.verdict == "worse":
            return f"{new} is worse than {base}."
        unsure = f"{new} is not shown to be no worse than {base}"
        if self.verdict == "undecided":
            enough = f"{counted(self.items, self.noun)} are enough for equal systems"
            return f"{unsure}: {enough} at power {self.power:g}, and these lie between."
        if self.needed > MOST_TOPICS:
            return (
                f"{unsure}: no number of {plural(self.noun)} is enough with so few {plural(self.instance)}."
            )
        needs = counted(int(self.needed), self.noun)
        return f"{unsure}: needs {needs} to tell with power {self.power:g}, has {self.items:,}."

    def __repr__(self) -> str:
        return f"<Gate: {self.verdict}; {self}>"

    def __str__(self) -> str:
        level, d = f"{100 * (1 - self.alpha):g} %", max(3, 1 - int(np.floor(np.log10(self.margin))))
        return "\n".join(
            [
                f"{'✅' if self.passes else '❌'} {self.verdict}: {self.sentence()}",
                f"{short(self.measure)} {number(self.mean_new, d)} against {number(self.mean_base, d)}: difference"
                f" {number(self.difference, d)}, {level} interval {number(self.lower, d)} to {number(self.upper, d)},"
                f" {equated(p_value(self.p))}; margin {self.margin:g}; {self.procedure}, {self.claim}",
            ]
        )


def gate(
    scores: xr.DataArray,
    base: str,
    new: str,
    *,
    margin: float = 0.01,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Gate:
    """Say whether a system may replace another: better, no worse, worse, or underpowered.

    A paired t-test over topics; the unified test where there are several instances, seeds or samples of a system (J15).

    Parameters
    ----------
    scores
        Scores that passed the gate, of these two systems and perhaps others.
    base, new
        The system in use, and the one that may replace it.
    margin
        The largest loss that does not matter.
    power
        Probability with which equal systems should be found to be no worse.
    alpha
        One less the level of the interval.

    >>> rng = np.random.default_rng(2)
    >>> y = rng.normal(0.5, 0.2, (200, 1)) + rng.normal(0.0, 0.03, (200, 2))
    >>> table = xr.DataArray(y, dims=("topic", "system"), coords={"system": ["old", "new"]}, name="accuracy")
    >>> print(gate(table, "old", "new").sentence())
    new is no worse than old: it loses less than 0.01.
    """
    names = level_names(scores, "system")
    for name in (base, new):
        if name not in names:
            raise InputError(
                f"no system is called {name!r}", remedy=f"the systems are {', '.join(names[:5])}"
            )
    if base == new:
        raise InputError(f"{base!r} is to be compared with itself", remedy="name two systems")
    two = scores.isel(system=[names.index(new), names.index(base)])
    procedure = parse("unified holm" if "instance" in layout_of(two) else "t holm")
    pairs = procedure.run(two, baseline=base)
    row = pairs.to_frame(1.0 - alpha).iloc[0]
    claimed = equivalence(pairs, margin, "lower", method="interval", alpha=alpha)
    lower, upper = float(claimed.table["lower"].iloc[0]), float(claimed.table["upper"].iloc[0])
    others = [d for d in two.dims if d not in ("topic", "system")]
    by_topic = (two.mean(others) if others else two).transpose("topic", "system").to_numpy()
    difference = by_topic[:, 0] - by_topic[:, 1]
    items, variance = len(difference), float(np.var(difference, ddof=1))
    fixed = max(float(row["se"]) ** 2 - variance / items, 0.0) if "instance" in two.dims else 0.0
    needed = topics_for_margin(variance, margin, fixed=fixed, alpha=alpha, power=power)
    if lower > 0.0:
        verdict = "better"
    elif claimed.holds:
        verdict = "no worse"
    elif upper < 0.0:
        verdict = "worse"
    else:
        verdict = "underpowered" if needed > items else "undecided"
    nouns, values = nouns_of(scores), pairs.estimates.values
    at = {name: float(values[k]) for k, name in enumerate(pairs.estimates.labels)}
    return Gate(
        verdict, base, new, str(scores.name or "score"), at[base], at[new], float(row["difference"]), lower, upper,
        float(row["p"]), margin, alpha, power, items, needed, nouns.get("topic", "topic"),
        nouns.get("instance", "instance"), pairs.claim, procedure.name.removesuffix(" holm"),
    )  # fmt: skip


def side_by_side(base: xr.DataArray, new: xr.DataArray, names: tuple[str, str]) -> tuple[xr.DataArray, int]:
    """Return two tables of one system each as one, on the topics that both have, and how many topics that leaves out.

    Parameters
    ----------
    base, new
        Scores of one system each, with or without instances.
    names
        What the two are called, where the tables do not tell them apart.
    """
    own_names = tuple(level_names(table, "system")[0] for table in (base, new) if table.sizes["system"] == 1)
    names = (own_names[0], own_names[1]) if len(set(own_names)) == 2 else names
    both = []
    seeds = any("instance" in table.dims for table in (base, new))
    for table, name in zip((base, new), names, strict=True):
        if table.sizes["system"] != 1:
            raise InputError(
                f"{name} has {table.sizes['system']} systems, and a gate compares two",
                remedy=(
                    "give tables of one system each, or one table with ",
                    Option("baseline"),
                    " and ",
                    Option("system"),
                ),
            )
        own = table.assign_coords(system=[name], topic=list(level_names(table, "topic")))
        if seeds:
            fixed = "instance" not in own.dims
            own = (
                own.expand_dims(instance=[0])
                if fixed
                else own.assign_coords(instance=range(own.sizes["instance"]))
            )
            own = own.assign_coords({DETERMINISTIC: ("system", [fixed])})
        both.append(own)
    first, second = both
    common = [name for name in first["topic"].values if name in set(second["topic"].values)]
    if len(common) < 2:
        raise InputError("the two tables have no items in common", remedy="give scores on the same items")
    joined = xr.concat(
        [table.sel(topic=common) for table in both],
        dim="system",
        join="outer",
        combine_attrs="override",
        coords="minimal",
        compat="override",
    )
    left = first.sizes["topic"] + second.sizes["topic"] - 2 * len(common)
    return joined.rename(first.name or "score").assign_attrs(second.attrs | first.attrs), left
