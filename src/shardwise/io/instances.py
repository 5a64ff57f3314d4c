"""Runs of systems that give different results each time: which file is which instance of which system."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from shardwise.core.claim import format_count
from shardwise.core.errors import Either, InputError
from shardwise.core.libraries import pd, xr
from shardwise.core.scores import DETERMINISTIC, as_scores
from shardwise.io.collection import Collection
from shardwise.io.files import PathLike, bare_name, list_files
from shardwise.io.natural_order import natural_key
from shardwise.io.scores import read_scores
from shardwise.io.tables.records import count_gaps

ONLY = "1"  # name of the instance of a system whose file names have none
FOLDER = "{system}/{instance}"
YES, NO = {"1", "true", "yes"}, {"", "0", "false", "no"}

Naming = str | Sequence[str] | Mapping[str, tuple[str, str]] | os.PathLike[str]
ScoreArray = TypeVar("ScoreArray", "xr.DataArray", "xr.Dataset")


@dataclass(frozen=True, slots=True, eq=False)
class InstanceRuns:
    """A collection whose every run is one instance of a system."""

    collection: Collection
    systems: tuple[str, ...]  # of each run
    instances: tuple[str, ...]  # of each run
    deterministic: tuple[str, ...]

    def arrange(self, scores: ScoreArray) -> ScoreArray:
        """Turn scores with one "system" a run into scores with the dimensions system and instance.

        Instances that a system does not have are missing, NaN; the coordinate `deterministic` carries the flags.

        Parameters
        ----------
        scores : DataArray or Dataset
            ScoreArray of ``collection``, as `score` returns them.

        Returns
        -------
        DataArray or Dataset
            The same scores by system and instance.
        """
        if tuple(map(str, scores["system"].values)) != self.collection.systems:
            raise InputError("the scores are not of these runs", remedy="score .collection of this object")
        names = list(dict.fromkeys(self.systems))
        labels = sorted(set(self.instances), key=natural_key)
        run_of = np.full((len(names), len(labels)), -1)
        for run, (system, instance) in enumerate(zip(self.systems, self.instances, strict=True)):
            run_of[names.index(system), labels.index(instance)] = run
        runs = xr.DataArray(run_of, dims=("system", "instance"), coords={"system": names, "instance": labels})
        arranged = scores.rename(system="run").drop_vars("run").isel(run=runs).where(runs >= 0)
        return flag_deterministic(count_gaps(arranged), self.deterministic)


def flag_deterministic(scores: ScoreArray, systems: Iterable[str]) -> ScoreArray:
    """Mark systems as deterministic by a coordinate along `system`; all others are not.

    Parameters
    ----------
    scores : DataArray or Dataset
        Any table that `as_scores` takes, or a Dataset of several measures.
    systems : iterable of str
        Names of the systems that give the same result each time.

    Returns
    -------
    DataArray or Dataset
        The scores with the coordinate.

    >>> table = xr.DataArray([[[0.1, 0.2]]], dims=("system", "instance", "topic"), coords={"system": ["bm25"]})
    >>> flag_deterministic(table, ["bm25"]).deterministic.values
    array([ True])
    """
    table = scores if isinstance(scores, xr.Dataset) else as_scores(scores).to_xarray()
    if isinstance(scores, xr.DataArray):
        # labels stay numbers where they were
        table = table.assign_coords({dim: scores[dim] for dim in table.dims if dim in scores.indexes})
    known = [str(name) for name in table["system"].values]
    named = [systems] if isinstance(systems, str) else list(systems)
    for name in named:
        if name not in known:
            raise InputError(
                f"unknown system {name!r}",
                remedy=f"the systems are {', '.join(known[:5])}{', …' * (len(known) > 5)}",
                argument=DETERMINISTIC,
                value=name,
                choices=known,
            )
    return table.assign_coords({DETERMINISTIC: ("system", np.array([name in named for name in known]))})


def read_instances(
    runs: PathLike | Iterable[PathLike],
    qrels: Any,
    instances: Naming = "{system}_seed{instance}.run",
    *,
    deterministic: Iterable[str] = (),
    **options: Any,
) -> InstanceRuns:
    """Read run files, each one instance of a system; score them with `score` and `.arrange`.

    Parameters
    ----------
    runs : path or iterable of path
        Paths, globs and folders of run files.
    qrels : object
        Judgments, as `read_collection` takes them.
    instances : str, sequence of str, mapping or path
        Which file is what: a file-name pattern such as ``"{system}_seed{instance}.run"`` ("/" reaches into folders, "*"
        is anything; an ending such as .gz may be left out), or several to be tried in turn, one without
        ``{instance}`` for systems with a single run; ``"folder"`` (the folder is the system, the file the instance); a
        CSV or TSV file with the columns file, system, instance and perhaps deterministic; or a mapping from path or
        file name to (system, instance).
    deterministic : iterable of str
        Systems that give the same result each time. One with a single run is not taken for deterministic unless
        named.
    **options
        What else `read_collection` takes.

    Returns
    -------
    InstanceRuns
        The runs as a collection, and the system and instance of each.
    """
    paths = list_files(runs)
    pairs, flagged = instance_names(paths, instances)
    named = dict.fromkeys([*([deterministic] if isinstance(deterministic, str) else deterministic), *flagged])
    systems = tuple(system for system, _ in pairs)
    for name in named:
        if systems.count(name) != 1:
            raise InputError(
                f"system {name!r}, named as deterministic, has {format_count(systems.count(name), 'run')}",
                remedy="give it exactly one run",
            )
    labels = {
        str(path): f"{system}/{instance}" for path, (system, instance) in zip(paths, pairs, strict=True)
    }
    from shardwise.io.reader import read_collection

    collection = read_collection(paths, qrels, names=labels, **options)
    return InstanceRuns(collection, systems, tuple(instance for _, instance in pairs), tuple(named))


def instance_names(paths: Sequence[Path], instances: Naming) -> tuple[list[tuple[str, str]], list[str]]:
    """Return (system, instance) of each file, and the systems that the naming itself flags as deterministic.

    >>> instance_names([Path("runs/dense_seed3.run.gz")], "{system}_seed{instance}.run")
    ([('dense', '3')], [])
    """
    flagged: list[str] = []
    if isinstance(instances, Mapping):
        pairs = [_look_up_path(path, instances) for path in paths]
    elif isinstance(instances, os.PathLike) or (
        isinstance(instances, str)
        and "{" not in instances
        and Path(instances).suffix.lower() in {".csv", ".tsv"}
    ):
        mapping, flagged = _read_mapping_file(Path(instances))
        pairs = [_look_up_path(path, mapping) for path in paths]
    else:
        patterns = [instances] if isinstance(instances, str) else list(instances)
        compiled = [_compile_pattern(FOLDER if pattern == "folder" else pattern) for pattern in patterns]
        pairs = [_match_path(path, compiled, patterns) for path in paths]
    seen: dict[tuple[str, str], Path] = {}
    for path, name in zip(paths, pairs, strict=True):
        if name in seen:
            raise InputError(
                f"instance {name[1]!r} of system {name[0]!r} is already {seen[name]}",
                where=str(path),
                remedy="make the pattern distinguish them",
            )
        seen[name] = path
    return pairs, flagged


def _compile_pattern(pattern: str) -> tuple[int, re.Pattern[str]]:
    """Return number of path parts that a pattern speaks of, and the pattern itself."""
    if pattern.count("{system}") != 1 or pattern.count("{instance}") > 1:
        raise InputError(
            f"pattern {pattern!r} needs {{system}} once",
            remedy='write it as in "{system}_seed{instance}.run"',
            argument="instances",
            value=pattern,
        )
    words = {"{system}": "(?P<system>[^/]+)", "{instance}": "(?P<instance>[^/]+)", "*": "[^/]*"}
    text = "".join(
        words.get(part, re.escape(part)) for part in re.split(r"(\{system\}|\{instance\}|\*)", pattern)
    )
    return pattern.count("/") + 1, re.compile(text)


def _match_path(
    path: Path, compiled: Sequence[tuple[int, re.Pattern[str]]], patterns: Sequence[str]
) -> tuple[str, str]:
    for parts, pattern in compiled:
        folders = path.absolute().parts[:-1][-(parts - 1) :] if parts > 1 else ()
        for name in (bare_name(path), path.name):
            match = pattern.fullmatch("/".join((*folders, name)))
            if match:
                return match["system"], match.groupdict().get("instance") or ONLY
    raise InputError(
        f"the name does not match {' or '.join(map(repr, patterns))}",
        where=str(path),
        remedy="add a pattern for it, as in '{system}.run' for a system with a single run",
    )


def _look_up_path(path: Path, mapping: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    for name in (str(path), path.name, bare_name(path)):
        if name in mapping:
            system, instance = mapping[name]
            return str(system), str(instance)
    raise InputError(
        "is not in the list of instances", where=str(path), remedy="add it, or leave the file out"
    )


def _read_mapping_file(path: Path) -> tuple[dict[str, tuple[str, str]], list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InputError(
            "cannot be read as a list of instances", where=str(path), remedy="check it"
        ) from None
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t" if path.suffix.lower() == ".tsv" else ","))
    for column in ("file", "system", "instance"):
        if not rows or column not in rows[0]:
            raise InputError(
                f"has no column {column!r}", where=str(path), remedy="columns: file, system, instance"
            )
    mapping: dict[str, tuple[str, str]] = {}
    flagged: dict[str, None] = {}
    for line, row in enumerate(rows, start=2):
        if not row["file"] or not row["system"] or row["file"] in mapping:
            fault = "is listed twice" if row["file"] in mapping else "a file or system is empty"
            raise InputError(
                f"{row['file']} {fault}".strip(), where=f"{path}:{line}", remedy="keep one row a file"
            )
        mapping[row["file"]] = (row["system"], row["instance"] or ONLY)
        flag = (row.get(DETERMINISTIC) or "").strip().lower()
        if flag not in YES | NO:
            raise InputError(f"deterministic is {flag!r}", where=f"{path}:{line}", remedy="write yes or no")
        if flag in YES:
            flagged[row["system"]] = None
    return mapping, list(flagged)


def read_instance_scores(
    source: PathLike | pd.DataFrame | Sequence[PathLike],
    *,
    measure: str | None = None,
    deterministic: Iterable[str] = (),
) -> xr.DataArray | xr.Dataset:
    """Read a table of scores with a column `instance`; systems may have different numbers of instances.

    A table without that column is refused. An instance must have a score for every topic or for none; those that a
    system was not run for are missing, NaN.

    Parameters
    ----------
    source : path, DataFrame or sequence of path
        A data frame or files, as `read_scores` takes them.
    measure : str, optional
        Picks one measure, or names it in a table that does not.
    deterministic : iterable of str
        Systems that give the same result each time, so that one instance says all.

    Returns
    -------
    DataArray or Dataset
        Scores by topic, system and instance; a Dataset where there are several measures.

    >>> rows = [("a", 1, "t1", .2), ("a", 2, "t1", .3), ("b", 1, "t1", .1)]
    >>> table = pd.DataFrame(rows, columns=["system", "instance", "topic", "AP"])
    >>> read_instance_scores(table, deterministic=["b"]).sel(topic="t1").values
    array([[0.2, 0.3],
           [0.1, nan]])
    """
    scores = read_scores(source, measure=measure)
    if "instance" not in scores.dims:
        raise InputError(
            "the table has no column 'instance'",
            remedy=("add one, or use ", Either("read_scores", "shardwise compare")),
        )
    variables = scores.data_vars.values() if isinstance(scores, xr.Dataset) else [scores]
    for values in variables:
        present = values.notnull()
        partly = present.any("topic") & ~present.all("topic")
        for system, instance in zip(*np.nonzero(partly.transpose("system", "instance").values), strict=True):
            presence = present.isel(system=system, instance=instance)
            topic = str(presence["topic"].values[int(np.argmin(presence.values))])
            raise InputError(
                f"instance {presence['instance'].item()} of system {presence['system'].item()} has no"
                f" score for topic {topic}",
                remedy=(
                    "add it; where scores may be missing, use ",
                    Either("read_scores", "shardwise compare"),
                ),
            )
    if isinstance(scores, xr.Dataset):  # one call each, as the types are bound
        return flag_deterministic(scores, deterministic)
    return flag_deterministic(scores, deterministic)
