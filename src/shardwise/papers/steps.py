"""Steps of a long replication: each is kept when done, so that a second call resumes where the first stopped."""

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
from shardwise.papers.exhibit import Frames

Step = Callable[[], Frames]
FOLDER = "steps"


def run_steps(
    steps: Mapping[str, Step],
    key: str,
    folder: str | os.PathLike[str] | None,
    progress: Progress | None,
    executor: Executor | None = None,
) -> Frames:
    """Run all steps, or read those that a call with the same key kept; join their rows by name.

    Parameters
    ----------
    steps : Mapping
        Step by name.
    key : str
        Everything that the steps depend on, as `make_key` returns it.
    folder : path, optional
        Where finished steps are kept.
    progress : callable, optional
        Called with (steps done, steps in all).
    executor : Executor, optional
        Runs the steps side by side.

    Returns
    -------
    dict of DataFrame
        Rows of all steps.
    """
    kept = None if folder is None else Path(folder) / FOLDER / key
    finished = {name: kept / name for name in steps if kept is not None and (kept / name).is_dir()}
    to_make = [step for name, step in steps.items() if name not in finished]
    results = map_parallel(_run_step, to_make, jobs=1, executor=executor)
    parts: dict[str, list[pd.DataFrame]] = {}
    for number, name in enumerate(steps, start=1):
        if name in finished:
            frames = {file.stem: pd.read_parquet(file) for file in sorted(finished[name].glob("*.parquet"))}
        else:
            frames = next(results)
            if kept is not None:
                _keep_frames(frames, kept / name)
        for label, frame in frames.items():
            parts.setdefault(label, []).append(frame)
        if progress is not None:
            progress(number, len(steps))
    return {
        label: pd.concat([frame for frame in each if len(frame)] or each[:1], ignore_index=True)
        for label, each in parts.items()
    }


def _run_step(step: Step) -> Frames:
    return step()


def _keep_frames(frames: Frames, target: Path) -> None:
    """Write a step to a draft and move it, so that no step is ever half written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with draft_folder(target.parent) as draft:
        for label, frame in frames.items():
            write_atomically(draft / f"{label}.parquet", frame.to_parquet())
        try:
            draft.replace(target)
        except OSError:
            # another process may have been first
            if not target.is_dir():
                raise


def make_key(paper: str, *sources: Collection | xr.DataArray | xr.Dataset, **choices: Any) -> str:
    """Return one word for everything that a replication depends on: paper, version, data and choices.

    Parameters
    ----------
    paper : str
        Tag of the paper.
    *sources : Collection, DataArray or Dataset
        The data.
    **choices : object
        Options that change the result.

    Returns
    -------
    str
        Name of the folder of its steps.
    """
    digest = hashlib.blake2b(digest_size=8)
    digest.update(json.dumps([paper, shardwise.__version__, choices], default=str, sort_keys=True).encode())
    for source in sources:
        if isinstance(source, Collection):
            digest.update("\0".join([*source.systems, "", *source.topics]).encode("utf-8", "surrogateescape"))
            for part in ("names", "docs", "starts", "grades", "qrel_docs", "qrel_grades", "qrel_starts"):
                digest.update(np.ascontiguousarray(getattr(source, part)).tobytes())
        else:
            digest.update(json.dumps(source.to_dict(), default=str).encode("utf-8", "surrogateescape"))
    return f"{paper.lower()}-{digest.hexdigest()}"
