"""Scores that are already in memory, as other programs hold them -> a sheet or logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shardwise.core.errors import Either, InputError
from shardwise.core.libraries import pa, pd
from shardwise.io.logs import registry
from shardwise.io.logs.log import Log
from shardwise.io.tables.arrow import sheet_of_frame, sheet_of_table
from shardwise.io.tables.formats import sheet_of_json
from shardwise.io.tables.sheet import Sheet, make_column, make_sheet

_TREC_EVAL = re.compile(
    r"(gm_|set_)?(map|ndcg|P|recall|relstring|F)(_|$)|(map|ndcg)_cut_|success_|iprec_at_|num_|bpref$|recip_rank$|Rprec|infAP$|"
    r"11pt_avg$|utility|binG$|G$|relative_P"
)
"""What pytrec_eval calls its measures."""
_Row = tuple[str, str, str, Any]
_ROW = ("system", "topic", "measure", "value")


def read_object(data: Any) -> Sheet | list[Log]:
    """Turn anything in memory that holds scores into a sheet or logs, or refuse it.

    Parameters
    ----------
    data
        A data frame of pandas or polars, a table of Arrow, a dataset of Hugging Face; ``{system: {topic: score}}`` or
        ``{system: scores}``; what pytrec_eval returns, for one system or ``{system: …}``; Metrics of ir_measures,
        likewise; ranx runs that were evaluated; what pt.Experiment returns; logs of inspect_ai; or a list of rows, a
        dictionary each.

    >>> list(read_object({"bm25": {"q1": {"map": 0.5}, "q2": {"map": 0.25}}}).columns)
    ['system', 'topic', 'measure', 'value']
    """
    if isinstance(data, tuple) and data and all(isinstance(part, pd.DataFrame) for part in data):
        # pt.Experiment(perquery="both") returns means and scores
        detailed = [part for part in data if {"qid", "measure", "value"} <= set(map(str, part.columns))]
        data = detailed[0] if len(detailed) == 1 else data
    logs = registry.read_object(data)
    if logs is not None:
        return logs
    if isinstance(data, pd.DataFrame):
        return sheet_of_frame(data)
    if isinstance(data, pd.Series):
        return sheet_of_frame((data if data.name else data.rename("score")).reset_index())
    if isinstance(data, Mapping) and data and all(hasattr(part, "to_pandas") for part in data.values()):
        return _read_splits(data)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_arrow"):
        table = data if isinstance(data, pa.Table) else pa.table(data)
        return sheet_of_table(table)
    if hasattr(data, "to_pandas"):
        return sheet_of_frame(data.to_pandas())
    if _is_ranx(data, "Report"):
        raise InputError(
            "a ranx Report contains only aggregate means",
            remedy="give its runs, which keep the scores: [run_1, run_2]",
        )
    if isinstance(data, Mapping):
        return _read_mapping(data)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | np.ndarray):
        items = list(data)
        if items and all(isinstance(item, Mapping) for item in items):
            return sheet_of_json([dict(item) for item in items], "table", "table")
        if items and all(_is_ranx(item, "Run") for item in items):
            return _sheet_of_rows(
                row for k, run in enumerate(items) for row in _list_scores(run.name or f"run{k + 1}", run)
            )
        if items and all(_is_metric(item) for item in items):
            return _sheet_of_rows(_list_scores("system", items))
    if _is_ranx(data, "Run"):
        return _sheet_of_rows(_list_scores(data.name or "run", data))
    raise InputError(
        f"a {type(data).__name__} holds no scores that can be read",
        remedy="give a table of topics by systems: a data frame, an array, a DataArray or a file",
    )


def _read_splits(data: Mapping[Any, Any]) -> Sheet:
    """Return the one part of a DatasetDict of Hugging Face."""
    if len(data) > 1:
        raise InputError(
            f"has {len(data)} parts: {', '.join(map(str, data))}",
            remedy=f"choose one, as in dataset[{str(next(iter(data)))!r}]",
        )
    return sheet_of_frame(next(iter(data.values())).to_pandas())


def _read_mapping(data: Mapping[Any, Any]) -> Sheet:
    if not data:
        raise InputError(
            "the table has no systems", remedy=Either("give {system: {topic: score}}", "give some")
        )
    inner = list(data.values())
    if all(
        isinstance(value, Mapping) and value and all(_TREC_EVAL.match(str(k)) for k in value)
        for value in inner
    ):
        return _sheet_of_rows(_list_scores("system", data))
    plain = all(
        isinstance(value, Mapping) and not any(isinstance(v, Mapping) for v in value.values())
        for value in inner
    )
    lists = all(
        isinstance(value, Sequence | np.ndarray | pd.Series) and not isinstance(value, str) for value in inner
    )
    if plain:
        return sheet_of_json({str(k): dict(v) for k, v in data.items()}, "table", "table")
    if lists and not any(_is_metric(item) for value in inner for item in list(value)[:1]):
        if all(isinstance(value, pd.Series) for value in inner):
            return sheet_of_frame(pd.DataFrame(dict(data)))
        return sheet_of_json({str(k): list(v) for k, v in data.items()}, "table", "table")
    return _sheet_of_rows(row for system, scores in data.items() for row in _list_scores(str(system), scores))


def _list_scores(system: str, scores: Any) -> Iterator[_Row]:
    """Yield the scores of one system, one by one."""
    if _is_ranx(scores, "Run"):
        if not scores.scores:
            raise InputError(
                f"run {system!r} was not evaluated", remedy="call ranx.evaluate(qrels, run, metrics) first"
            )
        for measure, by_topic in scores.scores.items():
            for topic, value in by_topic.items():
                yield system, str(topic), str(measure), value
    elif isinstance(scores, Mapping):
        for topic, value in scores.items():
            if isinstance(value, Mapping):
                for measure, score in value.items():
                    if isinstance(score, Mapping):
                        raise InputError(
                            "the dictionary is four levels deep",
                            remedy="give {system: {topic: {measure: score}}}",
                        )
                    yield system, str(topic), str(measure), score
            else:
                yield system, str(topic), "", value
    else:
        items = list(scores) if isinstance(scores, Iterable) and not isinstance(scores, str) else [scores]
        for k, item in enumerate(items):
            if _is_metric(item):
                yield system, str(item.query_id), str(item.measure), item.value
            else:
                yield system, str(k), "", item


def _sheet_of_rows(rows: Iterable[_Row]) -> Sheet:
    cells = list(zip(*rows, strict=True))
    if not cells:
        raise InputError("the table has no scores", remedy="give some")
    columns = [make_column(name, values) for name, values in zip(_ROW, cells, strict=True)]
    return make_sheet([column for column in columns if column.name != "measure" or any(cells[2])], "table")


def _is_metric(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("query_id", "measure", "value"))


def _is_ranx(value: Any, kind: str) -> bool:
    return type(value).__module__.split(".")[0] == "ranx" and type(value).__name__ == kind
