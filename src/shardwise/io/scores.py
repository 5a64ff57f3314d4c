"""Scores in and out: tables of any kind, logs of evaluations, NetCDF."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core.arguments import chosen
from shardwise.core.errors import InputError
from shardwise.io.atomic import write_atomically
from shardwise.io.files import PathLike, bare_name, compressed, expand, read_padded, read_text
from shardwise.io.logs import inspect, lm_eval
from shardwise.io.logs.log import Log, joined
from shardwise.io.objects import are_paths, sheet_of
from shardwise.io.spreadsheets import guarded_frame
from shardwise.io.stores import ENDING, is_store, read_store, write_store
from shardwise.io.tables.delimited import EMPTY, from_text
from shardwise.io.tables.evaluation import from_evaluation, is_evaluation
from shardwise.io.tables.json_rows import from_json_lines, from_objects
from shardwise.io.tables.parquet import from_parquet, parquet_bytes
from shardwise.io.tables.records import ITEM_LABELS, Records, records
from shardwise.io.tables.roles import Columns
from shardwise.io.tables.sheet import Sheet, first_line, from_excel
from shardwise.io.tables.tensor import Missing, tensor

Layout = Literal["long", "wide"]

_NETCDF = (".nc", ".nc4", ".netcdf", ".h5")
_PARQUET = (".parquet", ".pq")
_EXCEL = (".xlsx", ".xlsm")
_LINES = (".jsonl", ".ndjson")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def read_scores(
    source: Any,
    *,
    measure: str | None = None,
    missing: Missing = "leave",
    columns: Columns | None = None,
    system: str | Sequence[str] = (),
    factors: Sequence[str] = (),
) -> xr.DataArray | xr.Dataset:
    """Read scores: a DataArray if they are of one measure, a Dataset with a variable each if of several.

    A table may be long (columns for item, system, perhaps instance, shard, split, and one column a measure, or measure
    + value) or wide (one row an item, one column a system; items are numbered from 1 where no column names them).
    Columns may have the user's own names (question, model, seed, correct and so on); the attributes ``topic_noun``,
    ``system_noun``, ``instance_noun`` keep them, and ``read_as`` says in a line what was understood. Columns such as
    ``task`` and ``cluster`` become labels of the items. Logs of lm-evaluation-harness and inspect_ai hold a model on a
    task each. Empty cells are NaN; the attributes ``undefined`` and ``missing`` count them: a cell is undefined where
    all systems lack a score on a shard, and missing elsewhere.

    Parameters
    ----------
    source
        Scores in memory (a data frame of pandas or polars, a table of Arrow, dictionaries, results of pytrec_eval,
        ir_measures and ranx), or a file: CSV or TSV (also compressed), JSON lines, Parquet, xlsx, NetCDF as written by
        `write_scores`, a Zarr store (of which is read what is looked at), what ``trec_eval -q`` and
        ``ir_measures --by_query`` print (one file a system), ``samples_*.jsonl`` of lm-evaluation-harness, ``.eval``
        and ``.json`` of inspect_ai. Several files are put together.
    measure
        Picks one measure, or names it in a table that does not.
    missing
        What becomes of rows that are not there: ``"leave"`` (NaN), ``"refuse"`` or ``"zero"``.
    columns
        Which column is what, where the headers do not say it: item, system, instance, score, cluster, task, shard,
        split or measure -> a column's name. Several columns of systems name those of a wide table.
    system
        What to call the systems of files that hold one each, in their order.
    factors
        Columns that are further dimensions, such as judge or annotator; labels of the items, where every item has one.

    >>> table = read_scores(pd.DataFrame({"question": [1, 2], "gpt": [1, 0], "llama": [0, 1]}))
    >>> table.dims, table.sel(topic="2", system="llama").item()
    (('topic', 'system'), 1.0)
    >>> table.attrs["read_as"]
    'read as 2 questions × 2 systems'
    """
    named = [system] if isinstance(system, str) else list(system)
    if not are_paths(source):
        parts = [records(sheet_of(source), measure, columns, *named[:1], factors=factors)]
    else:
        paths = score_files(source)
        if len(paths) == 1 and is_store(paths[0]):
            return _picked(read_store(paths[0]), measure, str(paths[0]))
        if len(paths) == 1 and paths[0].suffix.lower() in _NETCDF:
            return _picked(_netcdf().read_netcdf(paths[0]), measure, str(paths[0]))
        if named and len(named) != len(paths):
            raise InputError(
                f"{len(named)} names of systems for {len(paths)} files",
                remedy="name one a file",
                argument="system",
            )
        read = [read_file(path) for path in paths]
        parts = _records(read, paths, measure, columns, named, factors)
    return _picked(tensor(parts, missing), measure, parts[0].source)


def write_scores(scores: xr.DataArray | xr.Dataset, path: PathLike, *, layout: Layout = "long") -> None:
    """Write scores in the format that the ending names: .csv, .tsv (also .gz, .bz2, .xz, .zst), .parquet, .nc, .zarr.

    All of them read back with `read_scores`; NetCDF and Zarr keep the attributes too. A Zarr store is a folder of
    chunks, a split and some systems each. The file or folder appears only when it is complete.

    Parameters
    ----------
    scores
        One measure or several.
    path
        The file or store; one that is there is replaced.
    layout
        ``"long"``: one row a topic and system, one column a measure; ``"wide"``: one column a system, for a single
        measure.

    >>> import tempfile
    >>> table = xr.DataArray([[.1, .25]], {"topic": ["1"], "system": ["a", "b"]}, name="AP")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_scores(table, f"{folder}/scores.csv")
    ...     read_scores(f"{folder}/scores.csv").equals(table)
    True
    """
    chosen(layout, "layout", get_args(Layout))
    target = Path(path)
    ending = "".join(target.suffixes[-2:] if target.suffix.lower() in _COMPRESSED else target.suffixes[-1:])
    kind = ending.lower().split(".")[1] if ending else ""
    if not target.parent.is_dir():
        raise InputError("no such folder", where=str(target.parent), remedy="make it first")
    if f".{kind}" == ENDING:
        if layout == "wide":
            raise InputError("a store has no layout", remedy="leave it out", argument="layout")
        write_store(_dataset(scores), target)
        return
    if target.is_dir():
        raise InputError("is a folder, not a file", where=str(target), remedy="name a file in it")
    if f".{kind}" not in (".csv", ".tsv", *_PARQUET, *_NETCDF):
        raise InputError(
            f"the ending {ending!r} names no format",
            where=str(target),
            remedy="use .csv, .tsv, .parquet, .nc or .zarr",
        )
    if f".{kind}" in _NETCDF:
        content = _netcdf().netcdf_bytes(_dataset(scores))
    else:
        frame = _wide(scores) if layout == "wide" else _long(scores)
        if f".{kind}" in _PARQUET:
            content = parquet_bytes(frame)
        else:
            lost = {name: EMPTY for name in frame.columns if frame[name].isna().all()}
            frame = guarded_frame(frame.assign(**lost))
            text = frame.to_csv(index=False, sep="\t" if kind == "tsv" else ",")
            content = compressed(target.suffix.lower(), text.encode("utf-8", "surrogatepass"))
    write_atomically(target, content)


def score_files(source: PathLike | Sequence[PathLike]) -> list[Path]:
    """List the files meant by paths and patterns; of a folder, the logs in it; a store stands for itself."""
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    if stores := [Path(item) for item in given if is_store(Path(item))]:
        if len(given) > 1:
            raise InputError(
                "a Zarr store is read by itself",
                where=str(stores[0]),
                remedy="combine them with xarray.concat",
            )
        return stores
    found: list[PathLike] = []
    for item in given:
        if Path(item).is_dir():
            inside = sorted(path for path in Path(item).rglob("*") if _is_log_file(path))
            if not inside:
                raise InputError(
                    "is a folder, not a file", where=str(item), remedy="name the files of scores in it"
                )
            found += inside
        else:
            found.append(item)
    return expand(found)


def _is_log_file(path: Path) -> bool:
    """Whether a file is a log, by its name and, for JSON, by its first bytes."""
    if path.suffix == ".json":
        with path.open("rb") as stream:
            return b'"eval"' in stream.read(1000)
    return path.suffix == ".eval" or (path.suffix == ".jsonl" and "samples_" in path.name)


def are_score_files(paths: Sequence[Path]) -> bool:
    """Whether all files end as tables or logs do, and none as runs."""
    endings = (*_PARQUET, *_EXCEL, *_LINES, ".eval", ".json", ".csv")
    return all(path.is_dir() or Path(bare_name(path)).suffix.lower() in endings for path in paths)


def read_file(path: Path) -> Sheet | Log:
    """What a file holds, by its ending and its first bytes."""
    ending = Path(bare_name(path)).suffix.lower()
    if ending in _PARQUET:
        return from_parquet(path)
    if ending in _EXCEL:
        return from_excel(path)
    if ending in _NETCDF:
        raise InputError(
            "NetCDF files are read one at a time", where=str(path), remedy="combine them with xarray.concat"
        )
    if inspect.is_eval(path):
        return inspect.read_eval(path)
    if ending in _LINES:
        return _read_json(read_text(path), path, lines=True)
    read = read_padded(path)
    if read.head(64).lstrip()[:1] in (b"{", b"["):
        text = bytes(read.whole())
        del read  # which may be large
        return _read_json(text, path)
    head = read.head(1 << 16)
    return from_evaluation(bytes(read.whole()), path) if is_evaluation(head) else from_text(read, path)


def _netcdf() -> Any:
    """What reads and writes NetCDF, loaded where it is needed: HDF5 takes a tenth of a second."""
    return import_module("shardwise.io.netcdf")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _read_json(text: bytes, path: Path, *, lines: bool = False) -> Sheet | Log:
    first = text.lstrip().split(b"\n", 1)[0]
    if lines or _is_object(first):
        if _is_object(first) and lm_eval.is_samples(json.loads(first)):
            return lm_eval.read_samples(text, path)
        if lines or text.count(b"\n", 0, len(text.rstrip())):
            return from_json_lines(text, path)
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON ({first_line(error)})", where=str(path), remedy="check it") from None
    if isinstance(whole, list):
        return from_objects(whole, path)
    if inspect.is_log(whole):
        return inspect.read_json(whole, path)
    if lm_eval.is_results(whole):
        raise InputError(
            "has means only, from which nothing can be told",
            where=str(path),
            remedy="give the samples_*.jsonl beside it, which lm_eval --log_samples writes",
        )
    try:
        return replace(sheet_of(whole), source=str(path))
    except InputError as error:
        raise error.placed(str(path)) from None


def _records(
    read: Sequence[Sheet | Log],
    paths: Sequence[Path],
    measure: str | None,
    columns: Columns | None,
    systems: Sequence[str],
    factors: Sequence[str],
) -> list[Records]:
    """Scores of all files; logs are named together, so that models keep apart."""
    logs = [one for one in read if isinstance(one, Log)]
    if len(logs) == len(read):
        return joined(logs, systems, columns)
    sheets = []
    for one, path in zip(read, paths, strict=True):
        if not isinstance(one, Sheet):
            raise InputError(
                "is of another kind than the other files", where=str(path), remedy="read the files apart"
            )
        sheets.append(one)
    names = systems or [""] * len(sheets)
    parts = [
        records(one, measure, columns, name, factors=factors) for one, name in zip(sheets, names, strict=True)
    ]
    if _one_each(parts) or (systems and all(part.wide for part in parts)):
        return [
            records(one, measure, columns, name, single=True) for one, name in zip(sheets, names, strict=True)
        ]
    return parts


def _one_each(parts: Sequence[Records]) -> bool:
    """Whether files have the same columns for the same items: then a file is a system, and a column a measure."""
    if len(parts) < 2 or not all(part.wide for part in parts):
        return False
    first, second = (parts[k].labels for k in (0, 1))
    return first["system"].names == second["system"].names and bool(
        set(first["topic"].names) & set(second["topic"].names)
    )


def _picked(data: xr.Dataset, measure: str | None, source: str) -> xr.DataArray | xr.Dataset:
    names = [str(name) for name in data.data_vars]
    if measure is not None and measure not in names:
        filtered = [name for name in names if name.split(",")[0] == measure.removesuffix(",none")]
        if not filtered:  # metrics of lm-evaluation-harness may end in their filter
            raise InputError(f"has no measure {measure!r}", where=source, remedy=f"it has {', '.join(names)}")
        measure = filtered[0]
    if measure is None and len(names) > 1:
        return data
    picked = data[measure or names[0]]
    return picked.assign_attrs({**data.attrs, **picked.attrs})


def _dataset(scores: xr.DataArray | xr.Dataset) -> xr.Dataset:
    return scores if isinstance(scores, xr.Dataset) else scores.to_dataset(name=scores.name or "score")


def _long(scores: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    data = _dataset(scores)
    order = [str(dim) for dim in next(iter(data.data_vars.values())).dims]
    labels = [name for name in ITEM_LABELS if name in data.coords and name not in order]
    return data.to_dataframe(dim_order=order).reset_index()[[*order, *labels, *data.data_vars]]


def _wide(scores: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    data = _dataset(scores)
    values = next(iter(data.data_vars.values()))
    if len(data.data_vars) > 1 or "system" not in values.dims:
        raise InputError(
            "a wide table holds one measure of several systems", remedy="pick one, or write it long"
        )
    others = [str(dim) for dim in values.dims if dim != "system"]
    frame = values.transpose(*others, "system")
    rows = pd.MultiIndex.from_product([frame[dim].values for dim in others], names=others)
    flat = np.asarray(frame.values).reshape(len(rows), -1)
    return pd.DataFrame(flat, rows, columns=[str(s) for s in frame["system"].values]).reset_index()
