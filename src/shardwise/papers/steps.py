"""The steps of a long replication: each is kept when it is done, so that a second call takes up where one stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import shardwise
from shardwise.core.arguments import Progress, map_parallel
from shardwise.io.atomic import draft_folder, write_atomically
from shardwise.io.collection import Collection

Frames = dict[str, pd.DataFrame]  # rows of tables and figures, by a name of their own
Step = Callable[[], Frames]
FOLDER = "steps"


def run_steps(
    steps: Mapping[str, Step],
    key: str,
    folder: str | os.PathLike[str] | None,
    progress: Progress | None,
    executor: Executor | None = None,
) -> Frames:
    """Make all steps, or read those that a call with the same key left in the folder; join their rows by name."""
    kept = None if folder is None else Path(folder) / FOLDER / key
    there = {name: kept / name for name in steps if kept is not None and (kept / name).is_dir()}
    to_make = [step for name, step in steps.items() if name not in there]
    made = map_parallel(_made, to_make, jobs=1, executor=executor)
    found: dict[str, list[pd.DataFrame]] = {}
    for number, name in enumerate(steps, start=1):
        if name in there:
            frames = {file.stem: pd.read_parquet(file) for file in sorted(there[name].glob("*.parquet"))}
        else:
            frames = next(made)
            if kept is not None:
                _keep(frames, kept / name)
        for label, frame in frames.items():
            found.setdefault(label, []).append(frame)
        if progress is not None:
            progress(number, len(steps))
    return {
        label: pd.concat([frame for frame in each if len(frame)] or each[:1], ignore_index=True)
        for label, each in found.items()
    }


def _made(step: Step) -> Frames:
    return step()


def _keep(frames: Frames, place: Path) -> None:
    """Write a step beside its place and move it there, so that none is ever half there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with draft_folder(place.parent) as made:
        for label, frame in frames.items():
            write_atomically(made / f"{label}.parquet", frame.to_parquet())
        try:
            made.replace(place)
        except OSError:
            if not place.is_dir():  # another process was first
                raise


def key_of(paper: str, source: Collection | xr.DataArray | xr.Dataset, **choices: Any) -> str:
    """What the steps of a replication depend on, as one word: paper, version, data and choices."""
    digest = hashlib.blake2b(digest_size=8)
    said = json.dumps([paper, shardwise.__version__, choices], default=str, sort_keys=True)
    digest.update(said.encode())
    if isinstance(source, Collection):
        digest.update("\0".join([*source.systems, "", *source.topics]).encode("utf-8", "surrogateescape"))
        for part in ("names", "docs", "starts", "grades", "qrel_docs", "qrel_grades", "qrel_starts"):
            digest.update(np.ascontiguousarray(getattr(source, part)).tobytes())
    else:
        digest.update(json.dumps(source.to_dict(), default=str).encode("utf-8", "surrogateescape"))
    return f"{paper.lower()}-{digest.hexdigest()}"
