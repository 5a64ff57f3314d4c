"""Tables of scores in and out: CSV and TSV (long and wide), Parquet, NetCDF, trec_eval -q, ir_measures."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core.arguments import chosen
from shardwise.core.claim import DIMENSIONS
from shardwise.core.errors import InputError
from shardwise.io.files import PathLike, expand
from shardwise.io.score_tables import Missing, Records, from_frame, from_text, tensor

Layout = Literal["long", "wide"]

_NETCDF = (".nc", ".nc4", ".netcdf", ".h5")
_PARQUET = (".parquet", ".pq")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def read_scores(
    source: PathLike | pd.DataFrame | Sequence[PathLike],
    *,
    measure: str | None = None,
    missing: Missing = "refuse",
) -> xr.DataArray | xr.Dataset:
    """Read scores: a DataArray if they are of one measure, a Dataset with a variable each if of several.

    A table may be long (columns for topic, system, perhaps shard, split, instance, task, and measure + value or one
    column a measure) or wide (one row a topic, one column a system; topics are numbered from 1 where no column names
    them). Columns may have the user's own names (question, model, seed, correct and so on); the attributes
    ``topic_noun``, ``system_noun``, ``instance_noun`` keep them. Empty cells are NaN. The attributes ``undefined`` and
    ``missing`` count them: a cell is undefined where all systems lack a score on a shard, and missing elsewhere. An
    instance that a system was not run for is missing.

    Parameters
    ----------
    source
        A data frame, or a file: CSV or TSV (also compressed), Parquet, NetCDF as written by `write_scores`, or what
        ``trec_eval -q`` and ``ir_measures --by_query`` print (one file a system). Several files are put together.
    measure
        Picks one measure, or names it in a table that does not.
    missing
        What becomes of rows that are not there: ``"refuse"``, ``"undefined"`` (left NaN) or ``"zero"``.

    >>> table = read_scores(pd.DataFrame({"topic": [1, 2], "bm25": [.1, .3], "qld": [.2, .4]}))
    >>> table.dims, table.sel(topic="2", system="qld").item()
    (('topic', 'system'), 0.4)
    """
    if isinstance(source, pd.DataFrame):
        records = [from_frame(source, measure=measure)]
    else:
        paths = _files(source)
        if len(paths) == 1 and paths[0].suffix.lower() in _NETCDF:
            return _picked(_read_netcdf(paths[0]), measure, str(paths[0]))
        records = [_records(path, measure) for path in paths]
    return _picked(tensor(records, missing), measure, records[0].source)


def write_scores(scores: xr.DataArray | xr.Dataset, path: PathLike, *, layout: Layout = "long") -> None:
    """Write scores in the format that the ending names: .csv, .tsv (also .gz, .bz2, .xz, .zst), .parquet, .nc.

    All of them read back with `read_scores`; NetCDF keeps the attributes too. The file appears only when it is
    complete.

    Parameters
    ----------
    scores
        One measure or several.
    path
        The file; one that is there is replaced.
    layout
        ``"long"``: one row a topic and system, one column a measure; ``"wide"``: one column a system, for a single
        measure.

    >>> import tempfile
    >>> table = xr.DataArray([[.1, .25]], {"topic": ["1"], "system": ["a", "b"]}, name="AP")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_scores(table, f"{folder}/scores.csv")
    ...     read_scores(f"{folder}/scores.csv").identical(table.assign_attrs(undefined=0, missing=0))
    True
    """
    chosen(layout, "layout", get_args(Layout))
    target = Path(path)
    ending = "".join(target.suffixes[-2:] if target.suffix.lower() in _COMPRESSED else target.suffixes[-1:])
    kind = ending.lower().split(".")[1] if ending else ""
    if not target.parent.is_dir():
        raise InputError("no such folder", where=str(target.parent), remedy="make it first")
    if target.is_dir():
        raise InputError("is a folder, not a file", where=str(target), remedy="name a file in it")
    if f".{kind}" not in (".csv", ".tsv", *_PARQUET, *_NETCDF):
        raise InputError(
            f"the ending {ending!r} names no format",
            where=str(target),
            remedy="use .csv, .tsv, .parquet or .nc",
        )
    handle, draft = tempfile.mkstemp(suffix=ending, prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    try:
        if f".{kind}" in _NETCDF:
            _dataset(scores).to_netcdf(draft, engine="h5netcdf")
        else:
            frame = _wide(scores) if layout == "wide" else _long(scores)
            if f".{kind}" in _PARQUET:
                frame.to_parquet(draft, index=False)
            else:
                frame.to_csv(draft, index=False, sep="\t" if kind == "tsv" else ",")
        Path(draft).chmod(0o666 & ~_umask())
        Path(draft).replace(target)
    finally:
        Path(draft).unlink(missing_ok=True)


def _files(source: PathLike | Sequence[PathLike]) -> list[Path]:
    for item in [source] if isinstance(source, str | os.PathLike) else source:
        if Path(item).is_dir():
            raise InputError("is a folder, not a file", where=str(item), remedy="name the score file in it")
    return expand(source)


def _records(path: Path, measure: str | None) -> Records:
    if path.suffix.lower() in _PARQUET:
        try:
            frame = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise InputError(f"not a Parquet file ({_line(error)})", where=str(path)) from None
        return from_frame(frame, str(path), measure)
    if path.suffix.lower() in _NETCDF:
        raise InputError(
            "NetCDF files are read one at a time", where=str(path), remedy="combine them with xarray.concat"
        )
    return from_text(path, measure)


def _read_netcdf(path: Path) -> xr.Dataset:
    try:
        data = xr.load_dataset(path, engine="h5netcdf")
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"not a NetCDF file of scores ({_line(error)})", where=str(path)) from None
    strange = [str(dim) for dim in data.dims if dim not in DIMENSIONS]
    if strange or not data.data_vars:
        found = f"dimension {strange[0]!r}" if strange else "no variables"
        raise InputError(f"has {found}", where=str(path), remedy=f"scores have {', '.join(DIMENSIONS)}")
    return data


def _picked(data: xr.Dataset, measure: str | None, source: str) -> xr.DataArray | xr.Dataset:
    names = [str(name) for name in data.data_vars]
    if measure is not None and measure not in names:
        raise InputError(f"has no measure {measure!r}", where=source, remedy=f"it has {', '.join(names)}")
    if measure is None and len(names) > 1:
        return data
    picked = data[measure or names[0]]
    return picked.assign_attrs({**data.attrs, **picked.attrs})


def _dataset(scores: xr.DataArray | xr.Dataset) -> xr.Dataset:
    return scores if isinstance(scores, xr.Dataset) else scores.to_dataset(name=scores.name or "score")


def _long(scores: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    data = _dataset(scores)
    order = [str(dim) for dim in next(iter(data.data_vars.values())).dims]
    return data.to_dataframe(dim_order=order).reset_index()[[*order, *data.data_vars]]


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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
