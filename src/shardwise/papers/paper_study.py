"""All papers on several collections: where each claim holds, and the error rates and power of each approach there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

import shardwise as sw
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd, xr
from shardwise.papers.claims import FAILS, HOLDS, LEVEL, UNDECIDED, UNKNOWN
from shardwise.papers.exhibit import Exhibit, Frames, Replication
from shardwise.papers.experiment import (
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    gather_several,
    replicate_paper,
)
from shardwise.papers.f19_shards import F19
from shardwise.papers.ff21_bootstrap import FF21
from shardwise.papers.j15_instances import J15
from shardwise.papers.s14_topic_sets import S14
from shardwise.papers.v17_replicates import V17

PAPERS: Mapping[str, type[PaperExperiment]] = {"F19": F19, "FF21": FF21, "V17": V17, "S14": S14, "J15": J15}
COUNTS = (1, 2, 3, 5, 10, 25)
"""Numbers of shards; 1 is the whole collection."""
WHOLE = ("MD1 hsd topic", "t bh", "banova MD1 marginal-1 bh", "moderated")
SHARDED = (
    *(f"MD{number} hsd" for number in range(2, 7)),
    "MD3 bh",
    "MD6 bh",
    "banova MD3 marginal-1 bh",
    "banova MD6 marginal-1 bh",
    "moderated holm these",
    "moderated",
)
"""tANOVA with HSD and with BH, bANOVA, and the default methods of both aims."""
CONTROLLED = {"family": "family-wise error", "discovery": "false discovery rate"}
AIMS = {"exactly these topics": (), "new topics": ("topic",)}
SIMULATIONS = "simulations"
"""Column of J15's claims that need no scores."""
STANDARD_ERRORS = 4.0
"""Largest difference that is planted, in standard errors of a pair on the whole collection."""


@dataclass(frozen=True, kw_only=True)
class Study(PaperExperiment):
    """Study of all five papers on several collections, each runs with judgments or a table of scores.

    Parameters
    ----------
    measure : str
        Measure by which approaches are calibrated on runs; of tables it is the first.
    shards : sequence of int
        Numbers of even shards on which approaches are calibrated; 1 is the whole collection.
    systems : int
        Systems of a collection by which approaches are calibrated, evenly over the ranking.
    repetitions : int
        Simulated tables of every scenario.
    related : Mapping
        Sets of related systems, for V17, by the name of the collection.
    """

    tag: ClassVar[str] = "study"
    title: ClassVar[str] = "five papers on several collections"
    least: ClassVar[Mapping[str, int]] = {"systems": 3, "repetitions": 20}

    measure: str = "AP"
    shards: Sequence[int] = COUNTS
    systems: int = 20
    repetitions: int = 200
    related: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    def gather_data(self, data: Any) -> PaperData:
        """Take collections or tables by name."""
        named = {
            name: each
            if isinstance(each, sw.Collection | xr.Dataset)
            else sw.as_scores(each).to_xarray().drop_attrs().to_dataset()
            for name, each in gather_several(data).items()
        }
        if not named:
            raise InputError("no collection was given", remedy="give one, or several by name")
        return PaperData(xr.Dataset(), None, named=named)

    def explain_absence(self, source: PaperData) -> str:
        """Say nothing: every collection has its own reasons."""
        return ""

    def list_facts(self, source: PaperData) -> dict[str, str]:
        """State splits, resamples and simulated tables."""
        verdicts = (
            f"{self.claim_splits} splits, {self.claim_resamples} resamples of the topics, seed {self.seed}"
        )
        calibrated = (
            f"{self.repetitions} simulated tables per scenario, up to {self.systems} systems, {self.measure}"
        )
        return {"verdicts": verdicts, "error rates and power": calibrated}

    def list_steps(self, source: PaperData) -> Mapping[str, Step]:
        """Judge every claim on every collection, then calibrate approaches on each number of shards."""
        steps: dict[str, Step] = {}
        for number, (name, data) in enumerate(source.named.items()):
            for paper in PAPERS:
                # J15 needs repeats
                if paper != J15.tag or getattr(data, "sizes", {}).get("instance", 1) > 1:
                    steps[f"{number}-{paper}"] = partial(self._judge_paper, paper, name, data)
            for shards in self.shards:
                if shards == 1 or isinstance(data, sw.Collection):
                    steps[f"{number}-approaches-{shards}"] = partial(
                        self._calibrate_shards, name, data, shards
                    )
        steps[SIMULATIONS] = partial(self._judge_paper, J15.tag, SIMULATIONS, None)
        return steps

    def _judge_paper(self, paper: str, name: str, data: Any) -> dict[str, Rows]:
        """Return the verdicts of a paper on a collection; with the reason, where it cannot use it."""
        choices: dict[str, Any] = {"seed": self.seed, "jobs": self.jobs, "claim_splits": self.claim_splits}
        choices |= {"claim_resamples": self.claim_resamples}
        if paper == "V17" and name in self.related:
            choices["sets"] = self.related[name]
        experiment = PAPERS[paper](**choices)
        key = {"paper": paper, "collection": name}
        try:
            verdicts = experiment.judge(data)
        except InputError as error:
            verdicts = experiment.withhold_verdicts(str(error))
        rows = [{**key, "claim": v.name, **asdict(v)} for v in verdicts]
        return {"verdicts": pd.DataFrame(rows).drop(columns="name")}

    def _calibrate_shards(self, name: str, data: Any, shards: int) -> dict[str, Rows]:
        """Measure false alarms and power of all approaches on tables like the scores on so many shards."""
        whole = self._choose_systems(data)
        n, m = (whole.sizes[dim] for dim in ("topic", "system"))
        residuals = whole - whole.mean("topic") - whole.mean("system") + whole.mean()
        se = float(np.sqrt(2.0 * (residuals**2).sum() / ((n - 1) * (m - 1)) / n))
        how: dict[str, Any] = {"repetitions": self.repetitions, "seed": self.seed, "jobs": self.jobs}
        how["largest"] = STANDARD_ERRORS * se
        table = whole
        if shards > 1:
            # the same systems and topics on one even split, undefined scores 0
            split = sw.split(data, shards, kind="even", seed=self.seed, unlisted="add")
            scores = next(iter(sw.score(data, [self.measure], split, jobs=self.jobs).data_vars.values()))
            part = scores.isel(split=0, drop=True) if "split" in scores.dims else scores
            part = part.sel(topic=whole["topic"], system=whole["system"])
            table = sw.fill_undefined(part.transpose("topic", "system", "shard"), "zero")
        rows = []
        for aim, claim in AIMS.items():
            if shards > 1 or claim:
                made = sw.calibrate(table, WHOLE if shards == 1 else SHARDED, claims=[claim], **how)
                for row in made.table.to_dict("records"):
                    rates = {"rate": row["rate"], "rate_low": row["low"], "rate_high": row["high"]}
                    key = {"collection": name, "shards": shards, "aim": aim, "approach": row["method"]}
                    key["on"] = "whole" if shards == 1 else f"{shards} shards"
                    powers = {name: row[name] for name in ("error_rate", "power", "status", "null")}
                    rows.append({**key, **rates, **powers})
        return {"approaches": rows}

    def _choose_systems(self, data: Any) -> xr.DataArray:
        """Return the complete scores of systems evenly over the ranking, on the whole collection."""
        if isinstance(data, sw.Collection):
            table = next(iter(sw.score(data, [self.measure], jobs=self.jobs).data_vars.values()))
        else:
            table = next(iter(data.data_vars.values()))
            further = [dim for dim in table.dims if dim not in ("topic", "system")]
            table = table.mean(further, skipna=True)
        table = table.dropna("topic").transpose("topic", "system")
        order = np.argsort(-table.mean("topic").to_numpy(), kind="stable")
        places = np.unique(np.linspace(0, order.size - 1, min(self.systems, order.size)).round().astype(int))
        return table.isel(system=np.sort(order[places])).drop_attrs()

    def answer(self, frames: Frames) -> str:
        """Count the claims that hold or fail in more than half of the collections where they can be judged."""
        known = frames["verdicts"].query("verdict != @UNKNOWN and collection != @SIMULATIONS")
        counts = {"holds": 0, "fails": 0}
        claims = known.groupby(["paper", "claim"])
        for _, rows in claims:
            for word in counts:
                counts[word] += 2 * count_surely(rows[f"p_{word}"].tolist()) > len(rows)
        return (
            f"Of {len(claims)} claims judged on {known['collection'].nunique()} collections, {counts['holds']} hold "
            f"in more than half of their collections and {counts['fails']} fail (95% confidence each)."
        )

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out the matrix of claims and the tables of approaches, with what follows from them."""
        verdicts = frames["verdicts"]
        verdicts = verdicts.assign(answer=[_tell_cell(row) for row in verdicts.to_dict("records")])
        further = []
        for (paper, claim), rows in verdicts.groupby(["paper", "claim"], sort=False):
            key = {"paper": paper, "claim": claim}
            printed = str(rows["in_print"].iloc[0])
            further.append({**key, "collection": "over collections", "answer": count_collections(rows)})
            further.append({**key, "collection": "in print", "answer": printed})
        summary = pd.concat([pd.DataFrame(further), verdicts], ignore_index=True)
        yield self._show("Claims", verdicts, summary=summary)
        for aim, part in frames["approaches"].groupby("aim", sort=False):
            cells = part.assign(cell=[_tell_rates(row) for row in part.to_dict("records")])
            notes = choose_approaches(part)
            yield self._show("Approaches, {aim}", part, notes, words={"aim": aim}, summary=cells)


def study(data: Any, **choices: Any) -> Replication:
    """Judge the claims of five papers on several collections, and measure what each approach does on each.

    Parameters
    ----------
    data : Mapping
        Runs and judgments, or tables of scores, by name.
    **choices : object
        Fields of `Study`, and ``executor``, ``folder`` and ``progress`` of its method ``run``.

    Returns
    -------
    Replication
        The matrix of claims and collections, and error rates and power of approaches.
    """
    return replicate_paper(Study, data, **choices)


def _tell_cell(row: Mapping[Any, Any]) -> str:
    """Return a verdict with the splits that agree; what every split says, where the topics leave it open."""
    if row["verdict"] == UNKNOWN:
        return "–"
    is_here = row["verdict"] == UNDECIDED and row["here"] in (HOLDS, FAILS)
    splits = str(row["splits"] or "").split(" ")
    agreeing = f" ({splits[0]}/{splits[2]})" if len(splits) > 2 else ""
    return (f"{row['here']} here" if is_here else str(row["verdict"])) + agreeing


def count_surely(p: Sequence[float], level: float = LEVEL / 2.0) -> int:
    """Return in how many collections something is so, at least: partial conjunction of p-values (Bonferroni).

    >>> count_surely([0.001, 0.004, 0.3]), count_surely([0.02, 0.5])
    (2, 0)
    """
    tests = [value * (len(p) - k) <= level for k, value in enumerate(sorted(p))]
    return [*tests, False].index(False)


def count_collections(rows: pd.DataFrame) -> str:
    """Return in at least how many collections a claim holds and fails."""
    known = rows[(rows["verdict"] != UNKNOWN) & (rows["collection"] != SIMULATIONS)]
    if known.empty:
        return UNKNOWN
    holds, fails = (count_surely(known[name].tolist()) for name in ("p_holds", "p_fails"))
    parts = [f"{verb} in at least {count}" for verb, count in ((HOLDS, holds), (FAILS, fails)) if count]
    return f"{' and '.join(parts)} of {len(known)}" if parts else UNDECIDED


def _tell_rates(row: Mapping[Any, Any]) -> str:
    """Return false alarms and power of an approach in percent, marked where the rate is above what it controls."""
    mark = "!" if row["rate_low"] > LEVEL else ""
    return f"{100.0 * row['rate']:.0f}{mark} / {100.0 * row['power']:.0f}"


def choose_approaches(rows: pd.DataFrame) -> list[str]:
    """Return a sentence per collection and kind of error: the valid approach of most power."""
    sentences = []
    for name, part in rows.groupby("collection", sort=False):
        for kind, words in CONTROLLED.items():
            valid = part[(part["error_rate"] == kind) & (part["rate_low"] <= LEVEL)]
            if valid.empty:
                sentences.append(f"{name}, {words}: every approach has more than 5%.")
                continue
            best = valid.sort_values("power", kind="stable").to_dict("records")[-1]
            where = "the whole collection" if best["shards"] == 1 else best["on"]
            errors = f"{best['rate']:.0%}, 95% CI {best['rate_low']:.0%} to {best['rate_high']:.0%}"
            sentences.append(
                f"{name}, {words}: {best['approach']} on {where} has most power ({best['power']:.0%}) of the "
                f"approaches without significantly more than 5% ({errors})."
            )
    return sentences
