"""Scores that are already in memory, as other programs hold them -> a sheet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from shardwise.core.errors import Either, InputError
from shardwise.io.tables.sheet import Sheet, from_frame, made
from shardwise.io.tables.words import role_words

_TREC_EVAL = re.compile(
    r"(gm_|set_)?(map|ndcg|P|recall|relstring|F)(_|$)|(map|ndcg)_cut_|success_|iprec_at_|num_|bpref$|recip_rank$|Rprec|infAP$|"
    r"11pt_avg$|utility|binG$|G$|relative_P"
)  # what pytrec_eval calls its measures


def sheet_of(data: Any) -> Sheet:
    """Turn anything in memory that holds scores into a sheet, or refuse it.

    Parameters
    ----------
    data
        A data frame of pandas or polars, a table of Arrow; ``{system: {topic: score}}`` or ``{system: scores}``; what
        pytrec_eval returns, for one system or ``{system: …}``; Metrics of ir_measures, likewise; ranx runs that were
        evaluated; or a list of rows, a dictionary each.

    >>> list(sheet_of({"bm25": {"q1": {"map": 0.5}, "q2": {"map": 0.25}}}).columns)
    ['system', 'topic', 'measure', 'value']
    """
    if isinstance(data, pd.DataFrame):
        return from_frame(_indexed(data))
    if isinstance(data, pd.Series):
        return from_frame((data if data.name else data.rename("score")).reset_index())
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_arrow"):
        table = data if isinstance(data, pa.Table) else pa.table(data)
        return made(table, "table", lambda row: f"table:row {row + 1}")
    if _is_ranx(data, "Report"):
        raise InputError(
            "a ranx Report has means only", remedy="give its runs, which keep the scores: [run_1, run_2]"
        )
    if isinstance(data, Mapping):
        return _from_mapping(data)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | np.ndarray):
        items = list(data)
        if items and all(isinstance(item, Mapping) for item in items):
            return from_frame(pd.DataFrame(items))
        if items and all(_is_ranx(item, "Run") for item in items):
            return _long(
                row for k, run in enumerate(items) for row in _of_system(run.name or f"run{k + 1}", run)
            )
        if items and all(_is_metric(item) for item in items):
            return _long(_of_system("system", items))
    if _is_ranx(data, "Run"):
        return _long(_of_system(data.name or "run", data))
    raise InputError(
        f"a {type(data).__name__} holds no scores that can be read",
        remedy="give a table of topics by systems: a data frame, an array, a DataArray or a file",
    )


def _indexed(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose index, where it says more than row numbers, names the topics."""
    unnamed = len(frame.index.names) == 1 and frame.index.name is None
    if not unnamed or isinstance(frame.index, pd.RangeIndex):
        return frame
    known = any(role_words(str(name)) == {"topic"} for name in frame.columns)
    return frame if known else frame.rename_axis("topic")


def _from_mapping(data: Mapping[Any, Any]) -> Sheet:
    if not data:
        raise InputError(
            "the table has no systems", remedy=Either("give {system: {topic: score}}", "give some")
        )
    inner = list(data.values())
    if all(isinstance(one, Mapping) and one and all(_TREC_EVAL.match(str(k)) for k in one) for one in inner):
        return _long(_of_system("system", data))
    return _long(row for system, scores in data.items() for row in _of_system(str(system), scores))


_Row = tuple[str, str, str, Any]  # system, topic, measure, value


def _of_system(system: str, scores: Any) -> Iterator[_Row]:
    """The scores of one system, one by one."""
    if _is_ranx(scores, "Run"):
        if not scores.scores:
            raise InputError(
                f"run {system!r} was not evaluated", remedy="call ranx.evaluate(qrels, run, metrics) first"
            )
        for measure, found in scores.scores.items():
            for topic, value in found.items():
                yield system, str(topic), str(measure), value
    elif isinstance(scores, Mapping):
        for topic, value in scores.items():
            if isinstance(value, Mapping):
                for measure, one in value.items():
                    if isinstance(one, Mapping):
                        raise InputError(
                            "the dictionary is four levels deep",
                            remedy="give {system: {topic: {measure: score}}}",
                        )
                    yield system, str(topic), str(measure), one
            else:
                yield system, str(topic), "", value
    else:
        items = list(scores) if isinstance(scores, Iterable) and not isinstance(scores, str) else [scores]
        for k, item in enumerate(items):
            if _is_metric(item):
                yield system, str(item.query_id), str(item.measure), item.value
            else:
                yield system, str(k), "", item


def _long(rows: Iterable[_Row]) -> Sheet:
    frame = pd.DataFrame(list(rows), columns=["system", "topic", "measure", "value"])
    if frame.empty:
        raise InputError("the table has no scores", remedy="give some")
    unnamed = frame["measure"] == ""
    return from_frame(frame.drop(columns="measure") if unnamed.all() else frame)


def _is_metric(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("query_id", "measure", "value"))


def _is_ranx(value: Any, kind: str) -> bool:
    return type(value).__module__.split(".")[0] == "ranx" and type(value).__name__ == kind


def are_paths(data: Any) -> bool:
    """Whether something is a path or a list of them."""
    one = (str, os.PathLike)
    return isinstance(data, one) or (
        isinstance(data, Sequence) and bool(data) and all(isinstance(item, one) for item in data)
    )
