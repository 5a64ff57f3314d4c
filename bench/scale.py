"""Tables longer than memory: moments in one pass, beside reading the bytes alone and the Gram product alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

SIZES = ((10_000, 500), (100_000, 500), (1_000_000, 500), (1_000_000, 100))
BLOCK = 10_000
CODE = """
import json, os, resource, sys, time
import numpy as np
what, path, rows, systems = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
from shardwise import ScoreMoments
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
ScoreMoments.of(np.random.default_rng(0).random((50, 3)))  # loads what is imported late
file = os.open(path, os.O_RDONLY)
if what != "product":
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)  # nobody reads from memory what the disk should give
open("/proc/self/clear_refs", "w").write("5")
before, start, used = peak(), time.perf_counter(), spent()
if what == "bytes":
    buffer = bytearray(1 << 26)
    while os.readv(file, [buffer]):
        pass
elif what == "product":
    z = np.random.default_rng(0).random((systems, 16384))
    for _ in range(0, rows, 16384):
        z @ z.T
else:
    ScoreMoments.of(path, margins=what == "margins")
print(json.dumps([time.perf_counter() - start, spent() - used, (peak() - before) / 1024]))
"""


def write(folder: Path, rows: int, systems: int) -> tuple[Path, Path]:
    """The same random scores as .npy and as Parquet, written block by block."""
    rng = np.random.default_rng(0)
    array, parquet = folder / f"{rows}.npy", folder / f"{rows}.parquet"
    names = [f"s{k}" for k in range(systems)]
    made = np.lib.format.open_memmap(array, "w+", np.float64, (rows, systems))
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pa.parquet.ParquetWriter(parquet, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, rows, BLOCK):
            block = rng.random((min(BLOCK, rows - first), systems))
            made[first : first + BLOCK] = block
            writer.write_table(pa.table([block[:, k] for k in range(systems)], names=names))
    made.flush()
    del made
    os.sync()
    return array, parquet


class Measured(NamedTuple):
    """What one process took."""

    seconds: float
    processor: float
    memory: float  # MB beyond its imports


def measured(what: str, path: Path, rows: int, systems: int) -> Measured:
    """Read or multiply in a process of its own."""
    command = [sys.executable, "-c", CODE, what, str(path), str(rows), str(systems)]
    environment = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return Measured(*json.loads(done.stdout))


def run(sizes: tuple[tuple[int, int], ...] = SIZES) -> str:
    """Markdown table of times, memory and the share of the speed at which the bytes can be read."""
    lines = [
        "Scores as .npy and as Parquet (not compressed, 10,000 items a row group) on the disk, the cache of the system"
        " emptied of them before each run; all processors. *Bytes alone* reads the .npy file and drops what it read;"
        " *product alone* multiplies blocks in memory as often as the table has them. Seconds by the clock, in brackets"
        " seconds of processors: the best of three processes each; memory is the largest that any of them added to its"
        " imports. *Margins* are moments without products of different systems.",
        "",
        "| items × systems | GB | bytes alone | product alone | moments of .npy | of Parquet"
        " | margins of .npy | of Parquet | product / moments | bytes / margins | added memory, MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for rows, systems in sizes:
            array, parquet = write(Path(folder), rows, systems)
            kinds = [("bytes", array), ("product", array)]
            kinds += [(what, path) for what in ("moments", "margins") for path in (array, parquet)]
            rounds = [[measured(*kind, rows, systems) for kind in kinds] for _ in range(3)]  # side by side
            best = [
                (min(one.seconds for one in found), min(one.processor for one in found))
                for found in zip(*rounds, strict=True)
            ]
            (bytes_alone, _), (product, _), (moments, _), _, (margins, _), _ = best
            memory = max(one.memory for found in rounds for one in found[2:])
            lines.append(
                f"| {rows:,} × {systems} | {8e-9 * rows * systems:.2g} |"
                f" {' | '.join(f'{seconds:.3g} ({processor:.3g})' for seconds, processor in best)} |"
                f" {product / moments:.0%} | {bytes_alone / margins:.0%} | {memory:.0f} |"
            )
            array.unlink()
            parquet.unlink()
    return "\n".join(lines)
