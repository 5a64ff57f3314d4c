"""Compile the kernels into the package, for a common kind of processor: ``python make_kernels.py`` (make kernels).

Kernels are compiled by what calls them: two processes go through small analyses of every kind, one through runs and
paired tests, one through tables, models and draws, with a cache of their own each. What they have compiled is put
together into ``src/shardwise/compiled`` with the digest of the sources.
Nothing is done where it is there already. Wheels that are built afterwards hold it.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile, _CacheLocator

from shardwise.core.compiled import FOLDER, PACKAGE, stamp, target

SHARES = ("pairs", "models")  # that take about as long
MEASURES = ("AP", "P@10", "nDCG@10", "RBP", "ERR@20", "bpref", "infAP", "Rprec", "RR", "Judged@10")
PAIRED = ("t ", "unpaired-t", "wilcoxon", "sign", "randomization", "bootstrap", "unified")
ALSO = {
    ("topic", "system"): (
        "sign holm", "wilcoxon none", "bootstrap holm", "banova MD1 difference drawn bh",
    ),
}  # fmt: skip


def main() -> None:
    """Compile what is not there, or go through one share of the work where one is named."""
    if len(sys.argv) > 1:
        work(sys.argv[1], Path(tempfile.mkdtemp()))
        return
    wanted, made = target(), PACKAGE / FOLDER / "stamp"
    if wanted is None:
        print("kernels are compiled at their first use on machines of this kind")
    elif not (made.is_file() and made.read_bytes() == stamp(PACKAGE) + numba.__version__.encode()):
        with tempfile.TemporaryDirectory() as place:
            caches = [Path(place) / share for share in SHARES]
            compile_all(caches, *wanted)
            kept = gather(caches)
        made.write_bytes(stamp(PACKAGE) + numba.__version__.encode())
        print(f"{kept} kernels compiled for {wanted[0]}")


def compile_all(caches: list[Path], name: str, features: str) -> None:
    """Let one process for each share compile into a cache of its own."""
    shutil.rmtree(PACKAGE / FOLDER, ignore_errors=True)
    variables = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, cache.name],
            env={**os.environ, **variables, "NUMBA_CACHE_DIR": str(cache)},
        )
        for cache in caches
    ]
    ended = [process.wait() for process in processes]
    if any(ended):
        raise SystemExit("kernels: an analysis failed, so nothing was compiled")


def gather(caches: list[Path]) -> int:
    """Put the compiled code of all caches into the package; how many kernels there are."""
    digest, kept = stamp(PACKAGE), 0
    for folder in {path.parent for path in PACKAGE.rglob("*.py")}:
        place = PACKAGE / FOLDER / folder.relative_to(PACKAGE)
        within = _CacheLocator.get_suitable_cache_subpath(str(folder / "any.py"))
        indexes = sorted({path.stem for cache in caches for path in (cache / within).glob("*.nbi")})
        for base in indexes:
            place.mkdir(parents=True, exist_ok=True)
            together = IndexDataCacheFile(str(place), base, digest)
            for key, data in (pair for cache in caches for pair in contents(cache / within, base)):
                together.save(key, data)
            kept += 1
    return kept


def contents(folder: Path, base: str) -> Iterator[tuple[Any, Any]]:
    """Keys and compiled code of one kernel in one cache."""
    with suppress(FileNotFoundError), open(folder / f"{base}.nbi", "rb") as file:
        pickle.load(file)
        _, overloads = pickle.loads(file.read())
        for key, name in overloads.items():
            yield key, pickle.loads((folder / name).read_bytes())


def work(share: str, place: Path) -> None:
    """Small analyses of every kind: of runs, or of tables of scores."""
    try:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            if share == "pairs":
                runs(place)
            procedures(paired=share == "pairs")
    finally:
        shutil.rmtree(place)


def runs(place: Path) -> None:
    """Reading, scoring and splitting."""
    command("simulate", "--topics", 8, "--systems", 4, "--depth", 1000, "--corpus", 50_000, "--out", place)
    given = (place / "qrels.txt", place / "runs")
    command(
        "score",
        *given,
        *(word for name in MEASURES for word in ("--measure", name)),
        "--out",
        place / "s.csv",
    )
    command("score", *given, "--shards", 2, "--splits", 2, "--out", place / "shards.nc")
    command("stability", *given, "--shards", 2, "--splits", 2)


def procedures(paired: bool) -> None:
    """Every procedure on a table of its kind, paired tests or all else, as it is compared and as it is calibrated."""
    import numpy as np
    import xarray as xr

    import shardwise as sw
    from shardwise.methods.registry import DEFAULTS

    rng = np.random.default_rng(1)
    for dims, default in DEFAULTS.items():
        sizes = {**dict.fromkeys(dims, 3), "topic": 12, "system": 5}
        values = rng.beta(2.0, 4.0, size=[sizes[dim] for dim in dims]).round(2)
        scores = xr.DataArray(
            values, dims=dims, coords={dim: [f"{dim}{i}" for i in range(sizes[dim])] for dim in dims}
        )
        methods = [name for name in default.shown if name.startswith(PAIRED) == paired]
        for method in (*methods, *(name for name in ALSO.get(dims, ()) if name.startswith(PAIRED) == paired)):
            sw.compare(scores, method, seed=1)
        if methods:
            sw.calibrate(scores, methods, repetitions=10, seed=1)
        if not paired and "split" not in dims:
            sw.compare(scores, baseline="system0", seed=1)
            sw.compare(scores.where(scores["topic"] != "topic0"), seed=1)
    if not paired:  # all pairs and against a baseline, with gaps
        table = scores.isel(split=0, shard=0, drop=True)
        table[0, 0] = np.nan
        sw.compare(table, seed=1)
        sw.compare(table[1:], "MD1 dunnett topic", baseline="system0")


def command(*words: object) -> None:
    """Run a command line here."""
    from shardwise.cli.main import run

    run([*map(str, words), "--quiet"])


if __name__ == "__main__":
    main()
