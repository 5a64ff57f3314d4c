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
import pyarrow.ipc
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


def write(folder: Path, rows: int, systems: int) -> tuple[Path, Path, Path]:
    """The same random scores as .npy, as Arrow and as Parquet, written block by block."""
    rng = np.random.default_rng(0)
    array, arrow, parquet = (folder / f"{rows}.{kind}" for kind in ("npy", "arrow", "parquet"))
    names = [f"s{k}" for k in range(systems)]
    made = np.lib.format.open_memmap(array, "w+", np.float64, (rows, systems))
    schema = pa.schema([(name, pa.float64()) for name in names])
    with (
        pa.parquet.ParquetWriter(parquet, schema, compression="none", use_dictionary=False) as groups,
        pa.ipc.new_file(str(arrow), schema) as batches,
    ):
        for first in range(0, rows, BLOCK):
            block = rng.random((min(BLOCK, rows - first), systems))
            made[first : first + BLOCK] = block
            table = pa.table([block[:, k] for k in range(systems)], names=names)
            groups.write_table(table)
            batches.write_table(table)
    made.flush()
    del made
    os.sync()
    return array, arrow, parquet


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


def shares(limit: float, taken: list[float]) -> str:
    """What part of the speed of the limit each kind of file reaches."""
    return ", ".join(f"{limit / seconds:.0%}" for seconds in taken)


def run(sizes: tuple[tuple[int, int], ...] = SIZES) -> str:
    """Markdown table of times, memory and the share of the speed at which the bytes can be read."""
    lines = [
        "Scores as .npy, as Arrow and as Parquet (not compressed, 10,000 items a record batch or row group) on the"
        " disk, the cache of the system emptied of them before each run; all processors. Shares are of .npy, Arrow and"
        " Parquet. *Bytes alone* reads the .npy file and drops what it read;"
        " *product alone* multiplies blocks in memory as often as the table has them. Seconds by the clock, in brackets"
        " seconds of processors: the best of three processes each; memory is the largest that any of them added to its"
        " imports. *Margins* are moments without products of different systems.",
        "",
        "| items × systems | GB | bytes alone | product alone | moments of .npy | of Arrow | of Parquet"
        " | margins of .npy | of Arrow | of Parquet | bytes / moments | product / moments | bytes / margins"
        " | added memory, MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for rows, systems in sizes:
            files = write(Path(folder), rows, systems)
            kinds = [("bytes", files[0]), ("product", files[0])]
            kinds += [(what, path) for what in ("moments", "margins") for path in files]
            rounds = [[measured(*kind, rows, systems) for kind in kinds] for _ in range(3)]  # side by side
            best = [
                (min(one.seconds for one in found), min(one.processor for one in found))
                for found in zip(*rounds, strict=True)
            ]
            (bytes_alone, product, *others) = (seconds for seconds, _ in best)
            moments, margins = others[:3], others[3:]
            memory = max(one.memory for found in rounds for one in found[2:])
            lines.append(
                f"| {rows:,} × {systems} | {8e-9 * rows * systems:.2g} |"
                f" {' | '.join(f'{seconds:.3g} ({processor:.3g})' for seconds, processor in best)} |"
                f" {shares(bytes_alone, moments)} | {shares(product, moments)} | {shares(bytes_alone, margins)} |"
                f" {memory:.0f} |"
            )
            for path in files:
                path.unlink()
    return "\n".join(lines)
