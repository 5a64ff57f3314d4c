"""Questions that the papers leave open, on several collections side by side, so that no answer rests on one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.compare import compare
from shardwise.comparing.rankings import kendall_tau
from shardwise.core.arrays import Bools
from shardwise.core.errors import InputError
from shardwise.core.rng import make_generator
from shardwise.io.collection import UNJUDGED, Collection
from shardwise.methods.anova.fit import anova
from shardwise.papers.exhibit import Computed, Evidence, Exhibit, Frames, PaperClaim, Replication, Shape
from shardwise.papers.experiment import NO_DOCUMENTS, PaperData, PaperExperiment, replicate_paper
from shardwise.papers.s14_topic_sets import Collections
from shardwise.papers.steps import Step, make_key
from shardwise.planning.pools import _judged_keys, _ranked_keys
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import split

THIRDS = ("fewest", "middle", "most")
SHARES = (1.0, 0.5, 0.25)
PROPORTIONS = ((1, 1, 1), (3, 2, 1), (8, 1, 1))
SIZES = (5, 20, 80)
RESAMPLES = 999


@dataclass(frozen=True, kw_only=True)
class OpenQuestions(PaperExperiment):
    """Answers to what F19 §10, FF21 §6 and V17 §7 ask, for every collection given.

    Parameters
    ----------
    measure : str
        Measure of all answers.
    shards : int
        Number of even shards.
    samples : int
        Splits, over which figures are averaged.
    """

    tag: ClassVar[str] = "open-questions"
    title: ClassVar[str] = "what the papers leave open"

    measure: str = "AP"
    shards: int = 5
    samples: int = 3

    def gather_data(self, data: Any) -> Collections:
        """Take one collection, or several by name."""
        named = (
            dict(data)
            if isinstance(data, Mapping) and not isinstance(data, xr.Dataset)
            else {"collection": data}
        )
        for name, each in named.items():
            if not isinstance(each, Collection):
                raise InputError(
                    NO_DOCUMENTS,
                    where="" if name == "collection" else name,
                    remedy="give a qrels file and runs",
                )
        return Collections(xr.Dataset(), next(iter(named.values())), (), named=named)

    def make_key(self, source: PaperData) -> str:
        """Return one word for all collections and options."""
        assert isinstance(source, Collections)
        return make_key(self.tag, *source.named.values(), names=list(source.named), **self.list_choices())

    def list_facts(self, source: PaperData) -> dict[str, str]:
        """State measure and splits."""
        how = f"{self.samples} splits into {self.shards} even shards, seed {self.seed}; undefined scores 0"
        return {"measure": self.measure, "splits": how}

    def list_steps(self, source: PaperData) -> Mapping[str, Step]:
        """Answer four questions for every collection."""
        assert isinstance(source, Collections)
        steps: dict[str, Step] = {}
        for k, (name, runs) in enumerate(source.named.items()):
            steps[f"relevant-{k}"] = partial(self.compare_thirds, name, runs)
            steps[f"judgments-{k}"] = partial(self.thin_judgments, name, runs)
            steps[f"uneven-{k}"] = partial(self.weigh_shards, name, runs)
            steps[f"runs-{k}"] = partial(self.vary_runs, name, runs)
        return steps

    def _score_shards(self, runs: Collection, shards: int | None = None, **how: Any) -> xr.DataArray:
        count = None if "proportions" in how else shards or self.shards
        splits = split(runs, count, n_splits=self.samples, seed=self.seed, **how)
        scores = score(runs, [self.measure], splits, jobs=self.jobs)
        return fill_undefined(scores[str(next(iter(scores.data_vars)))], "zero")

    def compare_thirds(self, name: str, runs: Collection) -> Frames:
        """Compare what MD6 gains over MD3 on topics with few, some and many relevant documents (F19 §10).

        Parameters
        ----------
        name : str
            Name of the collection.
        runs : Collection
            Runs and judgments.

        Returns
        -------
        dict of DataFrame
            One row per third of the topics.
        """
        topic_of = np.repeat(np.arange(len(runs.topics)), np.diff(runs.qrel_starts))
        relevant = np.bincount(topic_of[runs.qrel_grades > 0], minlength=len(runs.topics))
        scores, rows = self._score_shards(runs), []
        for third, topics in zip(THIRDS, np.array_split(np.argsort(relevant, kind="stable"), 3), strict=True):
            part = scores.isel(topic=np.sort(topics))
            three, six = fit_splits(part, "MD3"), fit_splits(part, "MD6")
            rows.append({"collection": name, "topics": third, "least": int(relevant[topics].min()),
                         "largest": int(relevant[topics].max()), "ratio": six["ms"] / three["ms"],
                         "pairs_MD3": three["pairs"], "pairs_MD6": six["pairs"]})  # fmt: skip
        return {"relevant": pd.DataFrame(rows)}

    def thin_judgments(self, name: str, runs: Collection) -> Frames:
        """Measure what fewer judgments or fewer topics cost (F19 §10).

        Parameters
        ----------
        name : str
            Name of the collection.
        runs : Collection
            Runs and judgments.

        Returns
        -------
        dict of DataFrame
            One row per kind and share kept.
        """
        rng = make_generator(self.seed, 1)
        scores, judged = self._score_shards(runs), len(runs.qrel_docs)
        whole = score(runs, [self.measure], jobs=self.jobs)
        means = whole[str(next(iter(whole.data_vars)))].mean("topic").to_series()
        rows = []
        for kind in ("judgments", "topics"):
            for share in SHARES if kind == "judgments" else SHARES[1:]:
                if share == 1.0:
                    part, count = scores, judged
                elif kind == "judgments":
                    keep = rng.random(judged) < share
                    part, count = self._score_shards(keep_judgments(runs, keep)), int(keep.sum())
                else:
                    size = max(2, round(share * len(runs.topics)))
                    some = np.sort(rng.choice(len(runs.topics), size, replace=False))
                    part, count = scores.isel(topic=some), int(np.diff(runs.qrel_starts)[some].sum())
                tau = kendall_tau(part.mean(("split", "topic", "shard")).to_series(), means)
                new = int(compare(part, "moderated", n_resamples=RESAMPLES).reject().sum())
                rows.append({"collection": name, "kept": f"{share:.0%} of the {kind}", "kind": kind, "share": share,
                             "judgments": count, "tau": tau, "pairs_these": fit_splits(part, "MD6")["pairs"],
                             "pairs_new": new})  # fmt: skip
        return {"judgments": pd.DataFrame(rows)}

    def weigh_shards(self, name: str, runs: Collection) -> Frames:
        """Compare shards of unequal sizes, counted alike or by size (FF21 §6).

        Parameters
        ----------
        name : str
            Name of the collection.
        runs : Collection
            Runs and judgments.

        Returns
        -------
        dict of DataFrame
            One row per proportions and way of counting.
        """
        whole = score(runs, [self.measure], jobs=self.jobs)
        means = whole[str(next(iter(whole.data_vars)))].mean("topic").to_series()
        rows = []
        for shares in PROPORTIONS:
            uneven = len(set(shares)) > 1
            how = {"kind": "uneven", "proportions": shares} if uneven else {}
            scores = self._score_shards(runs, len(shares), **how)
            weights = xr.DataArray(np.array(shares) / sum(shares), dims="shard")
            pairs = fit_splits(scores, "MD6")["pairs"]
            for way, table in (("alike", scores.mean("shard")), ("by size", (scores * weights).sum("shard"))):
                by_system = table.mean(("split", "topic")).to_series()
                rows.append({"collection": name, "shards": ":".join(map(str, shares)), "counted": way,
                             "tau": kendall_tau(by_system, means),
                             "pairs_these": pairs if way == "alike" else np.nan})  # fmt: skip
        return {"uneven": pd.DataFrame(rows)}

    def vary_runs(self, name: str, runs: Collection) -> Frames:
        """Refit MD6 to random subsets of the runs (V17 §7).

        Parameters
        ----------
        name : str
            Name of the collection.
        runs : Collection
            Runs and judgments.

        Returns
        -------
        dict of DataFrame
            One row per size.
        """
        scores = self._score_shards(runs)
        systems = scores.sizes["system"]
        rng = make_generator(self.seed, 2)
        rows = [{"collection": name, "runs": systems, "se": fit_splits(scores, "MD6")["se"]}]
        for size in (n for n in SIZES if n < systems):
            each = [
                fit_splits(scores.isel(system=np.sort(rng.choice(systems, size, replace=False))), "MD6")["se"]
                for _ in range(5)
            ]
            rows.append({"collection": name, "runs": size, "se": float(np.mean(each)), "least": min(each),
                         "largest": max(each)})  # fmt: skip
        return {"runs": pd.DataFrame(rows)}

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out one table per question, collections side by side."""
        shape = Shape(
            rows=("collection", "topics", "least", "largest"), values=("ratio", "pairs_MD3", "pairs_MD6")
        )
        title = "thirds of the topics by relevant documents; ratio: error variance of MD6 over MD3"
        yield Exhibit(
            "Is MD6 for topics with few relevant documents?", title, frames["relevant"], shape=shape
        )
        values = ("judgments", "tau", "pairs_these", "pairs_new")
        shape = Shape(rows=("kept",), columns=("collection",), values=values)
        title = "pairs for exactly these topics (MD6) and for new topics (moderated)"
        yield Exhibit("What do fewer judgments cost?", title, frames["judgments"], shape=shape)
        shape = Shape(rows=("shards", "counted"), columns=("collection",), values=("tau", "pairs_these"))
        title = "three shards of stated proportions; τ with the whole collection"
        yield Exhibit("Must shards be of equal size?", title, frames["uneven"], shape=shape)
        spread = ("least", "largest") if "least" in frames["runs"] else ()
        shape = Shape(rows=("runs",), columns=("collection",), values=("se", *spread))
        title = "MD6 on random subsets: standard error of a pair, mean, least and largest of five"
        yield Exhibit("Which runs should the model hold?", title, frames["runs"], shape=shape)


def open_questions(data: Any, **choices: Any) -> Replication:
    """Answer what the papers leave open, on one collection or on several by name.

    Parameters
    ----------
    data : Collection or Mapping
        Runs and judgments, or several by name.
    **choices : object
        Fields of `OpenQuestions`, and ``executor``, ``folder`` and ``progress`` of its method ``run``.

    Returns
    -------
    Replication
        Verdicts and tables.
    """
    return replicate_paper(OpenQuestions, data, **choices)


def fit_splits(scores: xr.DataArray, model: str) -> dict[str, float]:
    """Return error mean square, standard error of a pair and HSD pairs of a model, means over splits."""
    rows = []
    for index in range(scores.sizes["split"]):
        fit = anova(scores.isel(split=index, drop=True), model)
        pairs = compare(fit, "hsd")
        ms = float(fit.table["ms"].loc["error"])
        rows.append({"ms": ms, "se": float(pairs.se[0]), "pairs": float(pairs.reject().sum())})
    return {str(name): float(value) for name, value in pd.DataFrame(rows).mean().items()}


def keep_judgments(runs: Collection, keep: Bools) -> Collection:
    """Return the collection with only some of its judgments."""
    gone = np.sort(_judged_keys(runs)[~keep])
    judged = np.flatnonzero(runs.grades != UNJUDGED)
    grades = runs.grades.copy()
    grades[judged[np.isin(_ranked_keys(runs, judged), gone)]] = UNJUDGED
    ends = np.concatenate([[0], np.cumsum(keep)])[runs.qrel_starts].astype(np.int64)
    return replace(
        runs,
        grades=grades,
        qrel_docs=runs.qrel_docs[keep],
        qrel_grades=runs.qrel_grades[keep],
        qrel_starts=ends,
    )


# Claims


def check_few_relevant(frames: Computed) -> Evidence:
    """Check that MD6 takes more off the error of topics with few relevant documents, in every collection."""
    table = frames["relevant"].pivot(index="collection", columns="topics", values="ratio")
    texts = [f"{name} {' / '.join(f'{row[t]:.2f}' for t in THIRDS)}" for name, row in table.iterrows()]
    return Evidence(
        bool((table["fewest"] < table["most"]).all()), f"MD6/MD3, fewest to most: {'; '.join(texts)}"
    )


def check_thin_judgments(frames: Computed) -> Evidence:
    """Check that half the judgments of all topics find more pairs for new topics than half the topics."""
    rows = frames["judgments"][frames["judgments"]["share"] == 0.5]
    table = rows.pivot(index="collection", columns="kind", values="pairs_new")
    texts = [f"{name} {row['judgments']:.0f} against {row['topics']:.0f}" for name, row in table.iterrows()]
    return Evidence(bool((table["judgments"] > table["topics"]).all()), "; ".join(texts))


def check_uneven(frames: Computed) -> Evidence:
    """Check that shards of 8:1:1 cost MD6 pairs."""
    rows = frames["uneven"][frames["uneven"]["counted"] == "alike"]
    table = rows.pivot(index="collection", columns="shards", values="pairs_these")
    texts = [f"{name} {row['1:1:1']:.0f} → {row['8:1:1']:.0f}" for name, row in table.iterrows()]
    return Evidence(bool((table["8:1:1"] < table["1:1:1"]).all()), "; ".join(texts))


OpenQuestions.claims = (
    PaperClaim(
        name="MD6 is for topics with few relevant documents", section="F19 §10", needs=("relevant",),
        check=check_few_relevant,
        statement="MD6 takes more off the error variance of topics with few relevant documents than of others.",
    ),
    PaperClaim(
        name="thin judgments of all topics", section="F19 §10", needs=("judgments",), check=check_thin_judgments,
        statement="Half the judgments of all topics find more pairs for new topics than half the topics do.",
    ),
    PaperClaim(
        name="uneven shards cost pairs", section="FF21 §6", needs=("uneven",), check=check_uneven,
        statement="Shards of unequal size cost MD6 pairs.",
    ),
)  # fmt: skip
