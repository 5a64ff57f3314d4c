"""Scores in and out: tables of any kind, logs of evaluations, NetCDF."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from shardwise.core import late
from shardwise.core.arguments import validate_choice
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.extras import ENDINGS, require_for_files
from shardwise.core.libraries import pd, xr
from shardwise.core.measure import UNNAMED, is_lower_better
from shardwise.core.scores import Scores, as_scores, declare_measures
from shardwise.core.text import write_csv
from shardwise.io.atomic import write_atomically
from shardwise.io.files import (
    UNCHECKED,
    PathLike,
    are_paths,
    bare_name,
    compress_text,
    lacks_checksum,
    list_files,
    name_apart,
    read_padded,
)
from shardwise.io.logs import registry
from shardwise.io.logs.log import Log, join_logs
from shardwise.io.stores import ENDING, is_store, read_store, write_store
from shardwise.io.tables.delimited import EMPTY, is_evaluation, read_delimited, read_evaluation
from shardwise.io.tables.facts import Choice, Columns
from shardwise.io.tables.formats import UnknownJson, read_json, read_workbook
from shardwise.io.tables.numerals import Decimal
from shardwise.io.tables.records import (
    ITEM_LABELS,
    Arranged,
    Missing,
    Records,
    Wishes,
    arrange_scores,
    count_gaps,
    make_dataset,
    make_records,
)
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.votes import read_votes
from shardwise.io.votes import Votes, join_votes

Layout = Literal["long", "wide"]
PairBy = Literal["item", "position"]
Content = Sheet | list[Log] | Votes
"""What a file holds."""

_NETCDF, _EXCEL = ENDINGS["netcdf"], ENDINGS["xlsx"]
_PARQUET = (".parquet", ".pq")
_LINES = (".jsonl", ".ndjson")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def read_scores(
    source: Any,
    *,
    measure: str | None = None,
    missing: Missing | None = None,
    columns: Columns | None = None,
    system: str | Sequence[str] = (),
    factors: Sequence[str] = (),
    task: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    pair_by: PairBy = "item",
    decimal: Decimal | None = None,
    sheet: str = "",
    ridge: float = 0.0,
    range: Sequence[float] | None = None,
    lower_is_better: bool | None = None,
) -> xr.DataArray | xr.Dataset:
    """Read scores: a DataArray if they are of one measure, a Dataset with a variable each if of several.

    A table may be long (columns for item, system, perhaps repeat, shard, split, and one column a measure, or measure
    + value) or wide (one row an item, one column a system; or one row a system, one column an item). Which column is
    what is decided by headers, labels and numbers; a table that can be read in several ways is refused with the
    ``columns`` that choose. Rows and columns that sum up others are left out. The attribute ``read_as`` says in a line
    what was understood, ``topic_noun``, ``system_noun``, ``instance_noun`` keep the user's words, ``repeats_kind``
    says what repeats are where the source does. Columns such as ``task`` and ``cluster`` become labels of the items.
    Votes (columns such as ``model_a, model_b, winner``, perhaps with ``question`` and ``voter``) become strengths of
    Davidson's Bradley–Terry model, for which the default method of `compare` is made.
    Empty cells are NaN; the attributes ``undefined`` and ``missing`` count them: a cell is undefined where all systems
    lack a score on a shard, and missing elsewhere.

    Parameters
    ----------
    source : object
        Scores in memory (a collection of runs and judgments, a data frame of pandas or polars, a table of Arrow,
        dictionaries, results of pytrec_eval, ir_measures, ranx, PyTerrier and inspect_ai), or a file: CSV or TSV
        (also compressed), JSON, JSON lines, Parquet, xlsx, NetCDF as written by `write_scores`, a Zarr store (of
        which is read what is looked at), what ``trec_eval -q`` and ``ir_measures --by_query`` print (one file a
        system), result files of evaluation tools (lm-evaluation-harness, inspect_ai, promptfoo, deepeval, HELM,
        lighteval and others), or a folder of these. Several files are put together.
    measure : str, optional
        Picks one measure, or names it in a table that does not.
    missing : {"leave", "refuse", "zero"}, optional
        What becomes of scores that are not there: ``"leave"`` (NaN), ``"refuse"`` or ``"zero"``. Without it, empty
        cells and absent rows are left, and words among the scores are refused.
    columns : mapping, optional
        Which column is what, where the headers do not say it: item, system, repeat, score, cluster, task, shard,
        split or measure -> a column's name, or ``#1`` for the first. Several columns of systems name those of a wide
        table.
    system : str or sequence of str
        What to call the systems of files that hold one each, in their order.
    factors : sequence of str
        Columns that are further dimensions, such as judge or annotator; labels of the items, where every item has one.
    task : str or sequence of str
        Tasks to read, of logs and tables that have several.
    exclude : str or sequence of str
        Systems and items that are left out.
    pair_by : {"item", "position"}
        ``"position"`` pairs the rows of files that do not name their items.
    decimal : {"point", "comma"}, optional
        The decimal mark, ``"point"`` or ``"comma"``, where the numbers do not say it.
    sheet : str
        Which sheet of a workbook to read.
    ridge : float
        Penalty ridge/2·Σθ² of the strengths θ that are fitted to votes; 0 for maximum likelihood.
    range : (float, float), optional
        Lowest and highest score there can be; kept as the attribute ``range``.
    lower_is_better : bool, optional
        Whether small scores are good; kept as the attribute ``lower_is_better``. Without it by the measure's name, in
        a table that names none by what its systems or its file are called.

    Returns
    -------
    Scores by topic and system, with further dimensions where the source has them.

    >>> table = read_scores(pd.DataFrame({"question": [1, 2], "gpt": [1, 0], "llama": [0, 1]}))
    >>> table.dims, table.sel(topic="2", system="llama").item()
    (('topic', 'system'), 1.0)
    >>> table.attrs["read_as"]
    'read as 2 questions × 2 systems (gpt, llama)'
    """
    wishes = _make_wishes(measure, missing, columns, factors, task, exclude, pair_by, decimal, sheet)
    data = _read_source(source, wishes, list(_as_tuple(system)), ridge)
    if isinstance(data, Arranged):
        data = _pick_measure(make_dataset(data), measure, data.source)
    if range is None and lower_is_better is None:
        return data
    declared = declare_measures(_to_dataset(data), range, lower_is_better)
    for name in declared:
        try:
            as_scores(declared[name], needs=())
        except InputError as error:
            files = score_files(source)[:1] if are_paths(source) else ()
            raise error.add_location(": ".join([*map(str, files), str(name)])) from error
    return declared[data.name] if isinstance(data, xr.DataArray) else declared


def _make_wishes(
    measure: str | None = None,
    missing: Missing | None = None,
    columns: Columns | None = None,
    factors: Sequence[str] = (),
    task: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    pair_by: PairBy = "item",
    decimal: Decimal | None = None,
    sheet: str = "",
) -> Wishes:
    """Return how a source is to be read, or refuse words that are not known."""
    validate_choice(pair_by, "pair_by", get_args(PairBy))
    if decimal is not None:
        validate_choice(decimal, "decimal", get_args(Decimal))
    return Wishes(
        measure=measure,
        columns=columns,
        factors=tuple(factors),
        exclude=_as_tuple(exclude),
        missing=missing,
        decimal=decimal or "",
        sheet=sheet,
        tasks=_as_tuple(task),
        by_position=pair_by == "position",
    )


def read_tables(
    files: Sequence[Path],
    *,
    system: Sequence[str] = (),
    range: Sequence[float] | None = None,
    lower_is_better: bool | None = None,
    **options: Any,
) -> tuple[dict[str, Scores], str]:
    """Read scores as `read_scores` does, by measure, and the measure that the source shows first.

    Tables and most logs are read without xarray.
    """
    wishes = _make_wishes(**options)
    data = _read_source(files, wishes, list(system), 0.0)
    tables: Mapping[str, Any]
    if isinstance(data, Arranged):
        tables = {table.name: table for table in data.tables}
        if len(tables) > 1 and wishes.measure is not None and "task" in data.tables[0].coordinates:
            # a measure of some tasks only leaves out the items of others
            picked = _pick_measure(make_dataset(data), wishes.measure, data.source)
            tables = {str(picked.name): picked}
        elif wishes.measure is not None:
            name = _find_measure(list(tables), wishes.measure, data.source)
            tables = {name: tables[name]}
    else:
        dataset = _to_dataset(data)
        tables = {str(name): dataset[name] for name in dataset.data_vars}
    primary = str(data.primary if isinstance(data, Arranged) else data.attrs.get("primary", ""))
    how: dict[str, Any] = {"needs": (), "range": range, "lower_is_better": lower_is_better}
    scores = {}
    for name, table in tables.items():
        try:
            scores[name] = as_scores(table, **how)
        except InputError as error:
            raise error.add_location(": ".join([*map(str, files[:1]), name])) from error
    return scores, primary


def _read_source(
    source: Any, wishes: Wishes, systems: list[str], ridge: float
) -> Arranged | xr.DataArray | xr.Dataset:
    """Return the scores of a source as they are: of tables and logs all measures, else those asked for."""
    measure = wishes.measure
    collections = sys.modules.get("shardwise.io.collection")
    if not are_paths(source) and collections is not None and isinstance(source, collections.Collection):
        # runs with judgments: scored by the measure asked for, or by AP
        scored: xr.Dataset = late.call_bound("score", source, [measure or "AP"])
        return scored[next(iter(scored.data_vars))]
    paths: list[Path] = []
    contents: Sequence[Content]
    if not are_paths(source):
        contents = [import_module("shardwise.io.objects").read_object(source)]
    else:
        paths = score_files(source)
        if len(paths) == 1 and is_store(paths[0]):
            return _pick_measure(read_store(paths[0]), measure, str(paths[0]))
        if len(paths) == 1 and paths[0].suffix.lower() in _NETCDF:
            return _pick_measure(_load_netcdf().read_netcdf(paths[0]), measure, str(paths[0]))
        contents = _read_files(paths, wishes)
    votes = _find_votes(contents, wishes)
    if votes is not None:
        made: dict[str, Scores] = late.call_bound("votes", votes, ridge=ridge)
        arrays = {name: fitted.to_xarray() for name, fitted in made.items()}
        return _pick_measure(xr.Dataset(arrays, attrs={"primary": next(iter(made))}), measure, votes.source)
    if ridge:
        raise InputError(
            "a ridge is for votes, and these are scores", remedy="leave it out", argument="ridge"
        )
    parts = _make_parts(contents, paths, wishes, systems)
    absent = [name for name in wishes.exclude if not any(name in part.excluded for part in parts)]
    if absent:
        systems = list(dict.fromkeys(name for part in parts for name in part.labels["system"].names))
        raise refuse_unknown("exclude", absent[0], systems, what="system or item")
    return _name_measure(arrange_scores(parts, wishes.missing), paths)


def _name_measure(data: Arranged, paths: Sequence[Path]) -> Arranged:
    """Name the measure of a table that names none by what its systems share or its file, where that tells direction."""
    table, *others = data.tables
    if table.name != UNNAMED or others or "system" not in table.labels:
        return data
    names = list(map(str, table.labels["system"]))
    shared = [*_find_shared(names), *(Path(bare_name(path)).stem for path in paths[:1] if len(paths) == 1)]
    telling = next((name for name in shared if is_lower_better(name)), UNNAMED)
    return data._replace(tables=[table._replace(name=telling)])


def _find_shared(names: Sequence[str]) -> list[str]:
    """Return the last and the first words that several names share: ``asr1_wer, asr2_wer``, ``wer_asr1, wer_asr2``."""
    if len(names) < 2:
        return []
    # a hyphen joins the words of one name, as in cost-sensitive
    words = [re.split(r"[_\s./:]+", name) for name in names]
    least = min(map(len, words)) - 1
    ends = [k for k in range(1, least + 1) if len({tuple(parts[-k:]) for parts in words}) == 1]
    starts = [k for k in range(1, least + 1) if len({tuple(parts[:k]) for parts in words}) == 1]
    shared = ["_".join(words[0][-max(ends) :])] if ends else []
    return shared + (["_".join(words[0][: max(starts)])] if starts else [])


def _find_votes(contents: Sequence[Content], wishes: Wishes) -> Votes | None:
    """Return the votes of all files; None where they hold scores."""
    parts = [
        content
        if isinstance(content, Votes)
        else read_votes(content, wishes.columns, wishes.tasks)
        if isinstance(content, Sheet)
        else None
        for content in contents
    ]
    votes = [part for part in parts if part is not None]
    if not votes:
        return None
    if len(votes) < len(parts):
        raise InputError(
            "holds votes, and other files hold scores", where=votes[0].source, remedy="read the files apart"
        )
    return join_votes(votes).leave_out(wishes.exclude)


def _as_tuple(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def write_scores(
    scores: xr.DataArray | xr.Dataset | Scores, path: PathLike, *, layout: Layout = "long"
) -> None:
    """Write scores in the format that the ending names: .csv, .tsv (also .gz, .bz2, .xz, .zst), .parquet, .nc, .zarr.

    All of them read back with `read_scores`; NetCDF and Zarr keep the attributes too. A Zarr store is a folder of
    chunks, a split and some systems each. The file or folder appears only when it is complete.

    Parameters
    ----------
    scores : DataArray, Dataset or Scores
        One measure or several.
    path : path
        The file or store; one that is there is replaced.
    layout : {"long", "wide"}
        ``"long"``: one row a topic and system, one column a measure; ``"wide"``: one column a system, for a single
        measure.

    >>> import tempfile
    >>> table = xr.DataArray([[.1, .25]], {"topic": ["1"], "system": ["a", "b"]}, name="AP")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_scores(table, f"{folder}/scores.csv")
    ...     read_scores(f"{folder}/scores.csv").equals(table)
    True
    """
    validate_choice(layout, "layout", get_args(Layout))
    scores = scores.to_xarray() if isinstance(scores, Scores) else scores
    for measured in _to_dataset(scores).data_vars.values():
        # any number can be written, one that no analysis would take too
        if "votes" in measured.attrs:
            as_scores(measured, needs=()).require_items("a file of scores")
    target, data = Path(path), _to_dataset(scores)
    ending = "".join(target.suffixes[-2:] if target.suffix.lower() in _COMPRESSED else target.suffixes[-1:])
    kind = f".{ending.lower().split('.')[1]}" if ending else ""
    if not target.parent.is_dir():
        raise InputError("no such folder", where=str(target.parent), remedy="make it first")
    require_for_files([target])
    if kind == ENDING:
        if layout == "wide":
            raise InputError("a store has no layout", remedy="leave it out", argument="layout")
        write_store(data, target)
        return
    if target.is_dir():
        raise InputError("is a folder, not a file", where=str(target), remedy="name a file in it")
    if kind not in (".csv", ".tsv", *_PARQUET, *_NETCDF):
        remedy = "use .csv, .tsv, .parquet, .nc or .zarr"
        raise InputError(f"unknown extension {ending!r}", where=str(target), remedy=remedy)
    if kind in _NETCDF:
        write_atomically(target, _load_netcdf().netcdf_bytes(data))
        return
    frame = _to_wide(data) if layout == "wide" else _to_long(data)
    if kind in _PARQUET:
        content = import_module("shardwise.io.tables.arrow").parquet_bytes(frame)
    else:
        lost = {name: EMPTY for name in frame.columns if frame[name].isna().all()}
        text = write_csv(frame.assign(**lost), "\t" if kind == ".tsv" else ",")
        content = compress_text(target.suffix.lower(), text.encode("utf-8", "surrogatepass"))
    write_atomically(target, content)


def score_files(source: PathLike | Sequence[PathLike]) -> list[Path]:
    """List the files meant by paths and patterns; of a folder, the logs in it; a store stands for itself.

    Parameters
    ----------
    source
        Paths, patterns and folders.
    """
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    if stores := [Path(item) for item in given if is_store(Path(item))]:
        if len(given) > 1:
            raise InputError(
                "a Zarr store is read by itself",
                where=str(stores[0]),
                remedy="combine them with xarray.concat",
            )
        return stores
    files: list[PathLike] = []
    for item in given:
        files += registry.find_logs(Path(item)) if Path(item).is_dir() else [item]
    paths = list_files(files)
    require_for_files(paths)
    return paths


def are_score_files(paths: Sequence[Path]) -> bool:
    """Tell whether all files end as tables or logs do, and none as runs.

    Parameters
    ----------
    paths
        Files or folders.
    """
    endings = (*_PARQUET, *_EXCEL, *_LINES, ".eval", ".json", ".csv")
    for path in paths:
        ending = Path(bare_name(path)).suffix.lower()
        if path.is_dir() or ending in endings:
            continue
        if not path.is_file() or ending in _NETCDF:
            return False
        # what trec_eval or ir_measures print may have any ending
        with path.open("rb") as stream:
            if not is_evaluation(stream.read(1 << 14)):
                return False
    return not registry.are_rankings(paths)


def _read_files(paths: Sequence[Path], wishes: Wishes) -> list[Content]:
    """Read files by what they hold; files of means beside logs are passed over."""
    contents: list[Content] = []
    means_only: list[InputError] = []
    for path in paths:
        try:
            content = read_file(path, wishes)
        except registry.MeansOnly as error:
            means_only.append(error)
            continue
        if isinstance(content, Sheet) and path.is_file() and lacks_checksum(path):
            content = replace(content, notes=(*content.notes, UNCHECKED))
        contents.append(content)
    if means_only and not any(isinstance(content, list) for content in contents):
        raise means_only[0]
    return contents


def read_file(path: Path, wishes: Wishes) -> Content:
    """Return what a file holds, by its ending and its first bytes: a sheet, logs or votes."""
    ending = Path(bare_name(path)).suffix.lower()
    if ending in _NETCDF:
        raise InputError(
            "NetCDF files are read one at a time", where=str(path), remedy="combine them with xarray.concat"
        )
    logs = registry.read_logs(path)
    if logs is not None:
        return logs
    if ending in _PARQUET:
        return cast(Sheet, import_module("shardwise.io.tables.arrow").read_parquet(path))
    if ending in _EXCEL:
        return read_workbook(path, wishes.sheet, wishes.decimal)
    if wishes.sheet:
        raise InputError("is not a workbook", where=str(path), remedy=("leave out ", Option("sheet")))
    text = read_padded(path)
    if ending in _LINES or text.head(64).lstrip()[:1] in (b"{", b"["):
        content = bytes(text.whole())
        # the buffer may be large
        del text
        try:
            return read_json(content, path, lines=ending in _LINES)
        except UnknownJson as error:
            nearest = registry.name_nearest(path)
            raise InputError(
                f"{error.problem}{f', most like {nearest}' if nearest else ''}",
                where=error.where,
                remedy=error.remedy,
            ) from None
    if is_evaluation(text.head(1 << 16)):
        return read_evaluation(bytes(text.whole()), path)
    return read_delimited(text, path, wishes.decimal)


def _load_netcdf() -> Any:
    """Return what reads and writes NetCDF, loaded where it is needed: HDF5 takes a tenth of a second."""
    return import_module("shardwise.io.netcdf")


def _make_parts(
    contents: Sequence[Content], paths: Sequence[Path], wishes: Wishes, systems: Sequence[str]
) -> list[Records]:
    """Return scores of all sources; logs are named together, so that models keep apart."""
    if all(isinstance(content, list) for content in contents):
        logs = [log for content in contents if isinstance(content, list) for log in content]
        known = dict.fromkeys(log.task for log in logs)
        absent = [task for task in wishes.tasks if task not in known]
        if absent:
            raise refuse_unknown("task", absent[0], known)
        logs = [log for log in logs if not wishes.tasks or log.task in wishes.tasks]
        if systems and len(systems) != len(logs):
            raise _refuse_names(systems, len(logs), "log")
        return join_logs(logs, systems, wishes)
    if systems and len(systems) != max(1, len(paths)):
        raise _refuse_names(systems, len(paths), "file")
    sheets = []
    for content, path in zip(contents, paths or [Path("table")], strict=True):
        if not isinstance(content, Sheet):
            raise InputError(
                "is of another kind than the other files", where=str(path), remedy="read the files apart"
            )
        sheets.append(content)
    names = list(systems) or [""] * len(sheets)
    if len(sheets) == 1:
        return [_one_table(sheets[0], wishes, names[0])]
    sheets = [replace(sheet, system=name) for sheet, name in zip(sheets, name_apart(paths), strict=True)]
    return _several_tables(sheets, wishes, names)


def _refuse_names(systems: Sequence[str], count: int, what: str) -> InputError:
    return InputError(
        f"{len(systems)} names of systems for {format_count(count, what)}",
        remedy=f"name one a {what}",
        argument="system",
    )


def _one_table(sheet: Sheet, wishes: Wishes, system: str) -> Records:
    """Return the scores of the only table; measures of one system are refused, as nothing can be compared."""
    part = make_records(sheet, wishes, system)
    measures = list(part.measures.names)
    if (
        part.unnamed
        and len(measures) > 1
        and wishes.measure is None
        and not (wishes.columns or {}).get("score")
    ):
        raise InputError(
            f"holds {format_count(len(measures), 'measure')} of one system ({', '.join(measures[:6])})",
            where=sheet.source,
            remedy=(
                "give a file for each system, or say which columns are systems: ",
                Option("columns", Choice({"system": "+".join(measures[:3])})),
                "; name the one system with ",
                Option("system", sheet.system),
            ),
            argument="columns",
        )
    return part


def _several_tables(sheets: Sequence[Sheet], wishes: Wishes, names: Sequence[str]) -> list[Records]:
    """Return the scores of several tables: a file a system, or systems and items spread over files."""
    heads = [set(sheet.columns) for sheet in sheets]

    def make_parts(*, single: bool) -> list[Records]:
        return [
            make_records(sheet, wishes, name, single=single)
            for sheet, name in zip(sheets, names, strict=True)
        ]

    parts, named = make_parts(single=False), any(names)
    if (named or all(head == heads[0] for head in heads)) and all(part.wide for part in parts):
        systems = [list(part.labels["system"].names) for part in parts]
        shared = set(parts[0].labels["topic"].names) & set(parts[1].labels["topic"].names)
        same = all(held == systems[0] for held in systems)
        if named or (same and (shared or parts[0].numbered)):
            parts = make_parts(single=True)
    _refuse_unpaired(parts, wishes)
    return parts


def _refuse_unpaired(parts: Sequence[Records], wishes: Wishes) -> None:
    """Refuse files of different systems that nothing pairs: items without names, or no item in common."""
    systems = [set(part.labels["system"].names) for part in parts]
    if any(part.numbered for part in parts):
        rows = {len(part.labels["topic"].names) for part in parts}
        if not wishes.by_position:
            raise InputError(
                "has no column of items that pairs its rows with those of the other files",
                where=next(part.source for part in parts if part.numbered),
                remedy=("add one, or pair rows by their order with ", Option("pair_by", "position")),
            )
        if len(rows) > 1:
            raise InputError(
                f"has another number of rows than {parts[0].source} ({', '.join(map(str, sorted(rows)))})",
                where=parts[1].source,
                remedy="give files with the same rows to pair them by position",
            )
        return
    for k, part in enumerate(parts):
        items = set(part.labels["topic"].names)
        others = [j for j in range(len(parts)) if j != k and systems[j] != systems[k]]
        if others and not any(items & set(parts[j].labels["topic"].names) for j in others):
            first = next(iter(part.labels["topic"].names), "")
            other = next(iter(parts[others[0]].labels["topic"].names), "")
            raise InputError(
                f"shares no item with {parts[others[0]].source} ({first!r}, {other!r})",
                where=part.source,
                remedy="give files of the same items, named alike",
            )


def _find_measure(names: Sequence[str], measure: str, source: str) -> str:
    """Return the measure that a name means; metrics of lm-evaluation-harness may end in their filter."""
    filtered = [name for name in names if name.split(",")[0] == measure.removesuffix(",none")]
    if measure in names or filtered:
        return measure if measure in names else filtered[0]
    raise InputError(
        f"has no measure {measure!r}",
        where=source,
        remedy=f"it has {', '.join(names)}",
        argument="measure",
        value=measure,
        choices=names,
    )


def _pick_measure(data: xr.Dataset, measure: str | None, source: str) -> xr.DataArray | xr.Dataset:
    """Return one measure of several, without items that have no score of it."""
    names = [str(name) for name in data.data_vars]
    measure = None if measure is None else _find_measure(names, measure, source)
    if measure is None and len(names) > 1:
        return data
    picked = data[measure or names[0]]
    picked = picked.assign_attrs({**data.attrs, **picked.attrs})
    if len(names) > 1 and "task" in picked.coords:
        # a measure of some tasks only
        others = [dim for dim in picked.dims if dim != "topic"]
        scored = ~picked.isnull().all(others)
        if not bool(scored.all()) and bool(scored.any()):
            kept = picked.isel(topic=np.flatnonzero(scored.to_numpy()))
            tasks = dict.fromkeys(map(str, kept["task"].to_numpy().tolist()))
            note = f"{picked.attrs['read_as']}; {picked.name} of {', '.join(tasks)} only"
            picked = count_gaps(kept.assign_attrs(read_as=note))
    return picked


def _to_dataset(scores: xr.DataArray | xr.Dataset) -> xr.Dataset:
    return scores if isinstance(scores, xr.Dataset) else scores.to_dataset(name=scores.name or "score")


def _to_long(data: xr.Dataset) -> pd.DataFrame:
    order = [str(dim) for dim in next(iter(data.data_vars.values())).dims]
    labels = [name for name in ITEM_LABELS if name in data.coords and name not in order]
    return data.to_dataframe(dim_order=order).reset_index()[[*order, *labels, *data.data_vars]]


def _to_wide(data: xr.Dataset) -> pd.DataFrame:
    values = next(iter(data.data_vars.values()))
    if len(data.data_vars) > 1 or "system" not in values.dims:
        remedy = "pick one, or write it long"
        raise InputError("a wide table holds one measure of several systems", remedy=remedy)
    others = [str(dim) for dim in values.dims if dim != "system"]
    frame = values.transpose(*others, "system")
    rows = pd.MultiIndex.from_product([frame[dim].values for dim in others], names=others)
    flat = np.asarray(frame.values).reshape(len(rows), -1)
    return pd.DataFrame(flat, rows, columns=[str(s) for s in frame["system"].values]).reset_index()
