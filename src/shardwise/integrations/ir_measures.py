"""Measures of shardwise for ir_measures: a provider, registered there as ``shardwise`` when this module is imported.

>>> import ir_measures
>>> from ir_measures import AP, nDCG
>>> qrels = {"q1": {"a": 1, "b": 0, "c": 2}}
>>> run = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}
>>> {str(m): round(v, 4) for m, v in provider.calc_aggregate([AP, nDCG @ 2], qrels, run).items()}
{'AP': 0.8333, 'nDCG@2': 0.3801}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
from ir_measures import measures as kinds
from ir_measures.providers.base import Any as AnyValue
from ir_measures.providers.base import Evaluator, Provider, register

from shardwise.io.reader import read_collection
from shardwise.scoring.measures import Measure, parse_measure
from shardwise.scoring.measures.definitions import DEFINITIONS
from shardwise.scoring.scoring import score

_COUNTS = ("NumQ", "NumRel", "NumRet")
_SHARED = [definition for definition in DEFINITIONS if hasattr(kinds, definition.name)]
_BY_SUBTOPIC = {definition.name for definition in _SHARED if definition.needs == "subtopics"}
# measures of ir_measures that are computed here, with any values of their parameters
_SUPPORTED = [
    kind(**{parameter: AnyValue() for parameter in kind.SUPPORTED_PARAMS})
    for kind in dict.fromkeys(type(getattr(kinds, definition.name)) for definition in _SHARED)
]


class ShardwiseProvider(Provider):
    """Computes measures of ir_measures by shardwise, in pytrec_eval's order of ties for all of them."""

    NAME = "shardwise"
    SUPPORTED_MEASURES = _SUPPORTED

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> Evaluator:
        return ShardwiseEvaluator(list(measures), qrels)

    def qrel_inputs(self, measures: Iterable[Any]) -> list[str]:
        """Return the columns of judgments that measures need.

        Parameters
        ----------
        measures : iterable
            Measures of ir_measures.

        Returns
        -------
        list of str
            The columns, ``iteration`` among them where measures are on subtopics.
        """
        columns = ["query_id", "doc_id", "relevance"]
        by_subtopic = any(measure.NAME in _BY_SUBTOPIC for measure in measures)
        return [*columns, "iteration"] if by_subtopic else columns


class ShardwiseEvaluator(Evaluator):
    """Scores runs for some measures and judgments."""

    def __init__(self, measures: list[Any], qrels: Any) -> None:
        self.frame = ir_measures.util.QrelsConverter(qrels).as_pd_dataframe()
        super().__init__(measures, set(self.frame["query_id"]))
        self.wanted: dict[Any, Measure] = {
            measure: parse_measure(str(measure), "ir_measures") for measure in measures
        }

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        table = ir_measures.util.RunConverter(run).as_pd_dataframe()
        table = table[table["query_id"].isin(self.qrel_qids)]
        if table.empty:
            return
        for by_subtopic in (False, True):
            chosen = {
                theirs: ours
                for theirs, ours in self.wanted.items()
                if (ours.definition.needs == "subtopics") == by_subtopic
            }
            if chosen:
                yield from self._score(table, chosen, by_subtopic)

    def _score(self, table: Any, chosen: dict[Any, Measure], by_subtopic: bool) -> Iterator[Any]:
        qrels = self.frame
        if not by_subtopic:
            # a document that is judged for several subtopics counts by its highest grade
            qrels = qrels.groupby(["query_id", "doc_id"], sort=False, as_index=False)["relevance"].max()
        collection = read_collection(
            {"run": table[["query_id", "doc_id", "score"]]},
            qrels,
            like="pytrec_eval",
            subtopics=by_subtopic,
            jobs=1,
        )
        scores = score(collection, list(chosen.values()), jobs=1)
        # ir_measures lists topics in the order of the run
        order = list(dict.fromkeys(table["query_id"]))
        for theirs, ours in chosen.items():
            values = scores[str(ours)].isel(system=0).to_series()
            for topic in order:
                value = float(values[str(topic)])
                if value == value:
                    counted = theirs.NAME in _COUNTS
                    yield ir_measures.Metric(topic, theirs, int(value) if counted else value)


provider = register(ShardwiseProvider())
"""The provider, as it is registered."""
