"""Questions that the papers leave open, on several collections side by side, so that no answer rests on one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

import shardwise as sw
from shardwise.core.arrays import Floats, Ints, make_generator
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd, xr
from shardwise.papers.claims import Figures, Parts, divide, make_claims
from shardwise.papers.exhibit import Exhibit, Frames, Replication, read_layouts
from shardwise.papers.experiment import (
    NO_DOCUMENTS,
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    gather_several,
    replicate_paper,
)
from shardwise.papers.shard_fits import HSD, find_cuts, fit_models, read_tables
from shardwise.stats.student import student_critical

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

    def gather_data(self, data: Any) -> PaperData:
        """Take one collection, or several by name."""
        named = gather_several(data)
        for name, each in named.items():
            if not isinstance(each, sw.Collection):
                where = "" if name == "collection" else name
                raise InputError(NO_DOCUMENTS, where=where, remedy="give a qrels file and runs")
        return PaperData(xr.Dataset(), next(iter(named.values())), named=named)

    def list_facts(self, source: PaperData) -> dict[str, str]:
        """State measure and splits."""
        how = f"{self.samples} splits into {self.shards} even shards, seed {self.seed}; undefined scores 0"
        return {"measure": self.measure, "splits": how}

    def list_steps(self, source: PaperData) -> Mapping[str, Step]:
        """Answer four questions for every collection."""
        questions = {
            "relevant": self._compare_thirds,
            "judgments": self._thin_judgments,
            "uneven": self._weigh_shards,
            "runs": self._vary_runs,
        }
        return {
            f"{question}-{k}": partial(_answer, question, answer, name, runs)
            for k, (name, runs) in enumerate(source.named.items())
            for question, answer in questions.items()
        }

    def _score_shards(self, runs: sw.Collection, shards: int | None = None, **how: Any) -> xr.DataArray:
        """Score the measure on splits, undefined scores 0."""
        count = None if "proportions" in how else shards or self.shards
        how = {"n_splits": self.samples, "seed": self.seed, **how}
        splits = sw.split(runs, count, **how)
        scores = sw.score(runs, [self.measure], splits, jobs=self.jobs)
        return sw.fill_undefined(scores[str(next(iter(scores.data_vars)))], "zero")

    def _mean_whole(self, runs: sw.Collection) -> pd.Series[float]:
        """Return the means of the systems on the whole collection."""
        whole = sw.score(runs, [self.measure], jobs=self.jobs)
        return whole[str(next(iter(whole.data_vars)))].mean("topic").to_series()

    def _compare_thirds(self, runs: sw.Collection) -> Iterator[dict[str, Any]]:
        """Compare what MD6 gains over MD3 on topics with few, some and many relevant documents (F19 §10)."""
        relevant = count_relevant(runs)
        scores = self._score_shards(runs)
        for third, topics in zip(THIRDS, np.array_split(np.argsort(relevant, kind="stable"), 3), strict=True):
            part = scores.isel(topic=np.sort(topics))
            three, six = fit_splits(part, "MD3"), fit_splits(part, "MD6")
            ends = {"least": int(relevant[topics].min()), "largest": int(relevant[topics].max())}
            pairs = {"pairs_MD3": three["pairs"], "pairs_MD6": six["pairs"]}
            yield {"topics": third, **ends, "ratio": six["ms"] / three["ms"], **pairs}

    def _thin_judgments(self, runs: sw.Collection) -> Iterator[dict[str, Any]]:
        """Measure what fewer judgments or fewer topics cost (F19 §10)."""
        rng = make_generator(self.seed, 1)
        scores, judged, means = self._score_shards(runs), len(runs.qrel_docs), self._mean_whole(runs)
        for kind in ("judgments", "topics"):
            for share in SHARES if kind == "judgments" else SHARES[1:]:
                if share == 1.0:
                    part, count = scores, judged
                elif kind == "judgments":
                    keep = rng.random(judged) < share
                    thinned = runs.keep_judgments(keep)
                    part, count = self._score_shards(thinned), int(keep.sum())
                else:
                    size = max(2, round(share * len(runs.topics)))
                    some = np.sort(rng.choice(len(runs.topics), size, replace=False))
                    part, count = scores.isel(topic=some), int(np.diff(runs.qrel_starts)[some].sum())
                tau = sw.rankings.kendall_tau(part.mean(("split", "topic", "shard")).to_series(), means)
                new = int(sw.compare(part, "moderated", n_resamples=RESAMPLES).reject().sum())
                key = {"kept": f"{share:.0%} of the {kind}", "kind": kind, "share": share, "judgments": count}
                yield {**key, "tau": tau, "pairs_these": fit_splits(part, "MD6")["pairs"], "pairs_new": new}

    def _weigh_shards(self, runs: sw.Collection) -> Iterator[dict[str, Any]]:
        """Compare shards of unequal sizes, counted alike or by size (FF21 §6)."""
        means = self._mean_whole(runs)
        for shares in PROPORTIONS:
            uneven = len(set(shares)) > 1
            how = {"kind": "uneven", "proportions": shares} if uneven else {}
            scores = self._score_shards(runs, len(shares), **how)
            weights = xr.DataArray(np.array(shares) / sum(shares), dims="shard")
            pairs = fit_splits(scores, "MD6")["pairs"]
            for way, table in (("alike", scores.mean("shard")), ("by size", (scores * weights).sum("shard"))):
                tau = sw.rankings.kendall_tau(table.mean(("split", "topic")).to_series(), means)
                pair_count = pairs if way == "alike" else np.nan
                key = {"shards": ":".join(map(str, shares)), "counted": way}
                yield {**key, "tau": tau, "pairs_these": pair_count}

    def _vary_runs(self, runs: sw.Collection) -> Iterator[dict[str, Any]]:
        """Refit MD6 to random subsets of the runs (V17 §7)."""
        scores = self._score_shards(runs)
        systems = scores.sizes["system"]
        rng = make_generator(self.seed, 2)
        yield {"runs": systems, "se": fit_splits(scores, "MD6")["se"]}
        for size in (n for n in SIZES if n < systems):
            each = [
                fit_splits(scores.isel(system=np.sort(rng.choice(systems, size, replace=False))), "MD6")["se"]
                for _ in range(5)
            ]
            yield {"runs": size, "se": float(np.mean(each)), "least": min(each), "largest": max(each)}

    def measure_figures(self, source: PaperData) -> Figures:
        """Measure what the three claims compare, for every collection."""
        figures = Figures()
        for name, runs in source.named.items():
            scores = read_tables(self._score_shards(runs, n_splits=self.claim_splits))
            relevant = np.argsort(count_relevant(runs), kind="stable")
            for third, topics in zip(THIRDS, np.array_split(relevant, 3), strict=True):
                part = scores[:, np.sort(topics)]
                fits = fit_models(part, self.resample_topics(len(topics)), ["MD3", "MD6"])
                figures["ratio", name, third] = divide(fits.mean_square("MD6"), fits.mean_square("MD3"))
            weights = self.resample_topics(len(runs.topics))
            for shares in (PROPORTIONS[0], PROPORTIONS[-1]):
                uneven = len(set(shares)) > 1
                how: dict[str, Any] = {"kind": "uneven", "proportions": shares} if uneven else {}
                split = self._score_shards(runs, len(shares), n_splits=self.claim_splits, **how)
                fits = fit_models(read_tables(split), weights, ["MD6"])
                cuts = find_cuts(fits, [("MD6", HSD)])[0]
                figures["pairs", name, ":".join(map(str, shares))] = cuts["MD6", HSD]
            self._thin_figures(figures, name, runs, weights)
        return figures

    def _thin_figures(self, figures: Figures, name: str, runs: sw.Collection, weights: Floats) -> None:
        """Add pairs found for new topics by t-tests with half the judgments, and with half the topics."""
        rng = make_generator(self.seed, 3)
        whole = sw.score(runs, [self.measure], jobs=self.jobs, no_relevant="zero")
        table = next(iter(whole.data_vars.values())).transpose("topic", "system").to_numpy()
        counts: dict[str, list[Floats]] = {"judgments": [], "topics": []}
        for _ in range(self.claim_splits):
            thinned = runs.keep_judgments(rng.random(len(runs.qrel_docs)) < SHARES[1])
            scores = sw.score(thinned, [self.measure], jobs=self.jobs, no_relevant="zero")
            part = next(iter(scores.data_vars.values())).transpose("topic", "system").to_numpy()
            counts["judgments"].append(count_paired(part, weights))
            some = rng.choice(len(table), max(2, round(SHARES[1] * len(table))), replace=False)
            counts["topics"].append(count_paired(table[some], self.resample_topics(len(some))))
        for kind, values in counts.items():
            figures["new", name, kind] = np.stack(values, axis=1)

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out one table per question, collections side by side."""
        spread = ("least", "largest") if "least" in frames["runs"] else ()
        changes = {"runs": {"values": ("se", *spread)}}
        for label, name in zip(
            read_layouts()[self.tag], ("relevant", "judgments", "uneven", "runs"), strict=True
        ):
            yield self._show(label, frames[name], **changes.get(name, {}))


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


def count_relevant(runs: sw.Collection) -> Ints:
    """Return the number of relevant documents of each topic."""
    topic_of = np.repeat(np.arange(len(runs.topics)), np.diff(runs.qrel_starts))
    return np.bincount(topic_of[runs.qrel_grades > 0], minlength=len(runs.topics))


def count_paired(y: Floats, weights: Floats) -> Floats:
    """Return how many pairs paired t-tests with Benjamini-Hochberg find on resampled topics, (resamples,)."""
    a, b = np.triu_indices(y.shape[1], 1)
    n, counts = len(y), np.empty(len(weights))
    critical = student_critical(0.05 * np.arange(a.size, 0, -1) / a.size, n - 1.0)
    for k, row in enumerate(weights):
        means, squares = row @ y / n, (y * row[:, None]).T @ y
        variances = np.diagonal(squares)
        difference = means[a] - means[b]
        variance = (variances[a] + variances[b] - 2.0 * squares[a, b] - n * difference**2) / (n * (n - 1.0))
        size = np.sort(np.nan_to_num(divide(np.abs(difference), np.sqrt(np.maximum(variance, 0.0)))))
        beyond = size >= critical
        counts[k] = a.size - int(np.argmax(beyond)) if beyond.any() else 0
    return counts


def _answer(question: str, answer: Any, name: str, runs: sw.Collection) -> dict[str, Rows]:
    """Return the rows that answer a question, with the name of the collection."""
    return {question: [{"collection": name, **row} for row in answer(runs)]}


def fit_splits(scores: xr.DataArray, model: str) -> dict[str, float]:
    """Return error mean square, standard error of a pair and HSD pairs of a model, means over splits."""
    rows = []
    for index in range(scores.sizes["split"]):
        fit = sw.anova(scores.isel(split=index, drop=True), model)
        pairs = sw.compare(fit, "hsd")
        ms = float(fit.table["ms"].loc["error"])
        rows.append({"ms": ms, "se": float(pairs.se[0]), "pairs": float(pairs.reject().sum())})
    return {str(name): float(value) for name, value in pd.DataFrame(rows).mean().items()}


# Claims


def _subtract(figures: Figures, name: str, more: str, less: str) -> Parts:
    """Return by how much a figure of one kind is above that of another, in every collection."""
    return {
        f"{collection}, {more} less {less}": figures[name, collection, more] - figures[name, collection, less]
        for collection in figures.list_levels(name)
    }


OpenQuestions.claims = make_claims(
    "open-questions",
    {
        "MD6 is for topics with few relevant documents": partial(
            _subtract, name="ratio", more="most", less="fewest"
        ),
        "thin judgments of all topics": partial(_subtract, name="new", more="judgments", less="topics"),
        "uneven shards cost pairs": partial(_subtract, name="pairs", more="1:1:1", less="8:1:1"),
    },
)
