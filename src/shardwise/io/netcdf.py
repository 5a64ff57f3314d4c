"""Scores as NetCDF, which may come from anyone.

A file of ours ends with the hash of all that stands before, behind the last byte that HDF5 looks at. What does not
may be anything, and the library that reads it can loop or crash on what is damaged: it is read by a process of its
own, which returns a file of ours.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shardwise.core.claim import DIMENSIONS
from shardwise.core.errors import InputError
from shardwise.core.extras import import_extra
from shardwise.core.libraries import xr
from shardwise.core.processes import limit_processor, python_command, python_environment
from shardwise.io.files import most_inside, read_text
from shardwise.io.tables.sheet import first_line

h5netcdf, h5py = import_extra("netcdf")

MARK = b"\nshardwise scores 1, sha256 of the above: "
PATIENCE = 20  # seconds of a processor for a file of another program
LONGEST = 120.0  # and seconds in all
_END = len(MARK) + 64
_DAMAGE = (
    OSError, ValueError, TypeError, AttributeError, RuntimeError, LookupError, ArithmeticError,
)  # fmt: skip


def netcdf_bytes(data: xr.Dataset) -> bytes:
    """Return a NetCDF file of scores that ends with its hash; made in memory, where no disk can be full."""
    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        data.dump_to_store(xr.backends.H5NetCDFStore(file))
    made = buffer.getvalue()
    return made + MARK + hashlib.sha256(made).hexdigest().encode()


def read_netcdf(path: Path) -> xr.Dataset:
    """Read scores from NetCDF, refusing what is damaged, too large or stored elsewhere."""
    blob = read_text(path)
    where = str(path)
    if is_ours(blob):
        hashed = hashlib.sha256(blob[:-_END]).hexdigest().encode()
        if blob[-_END:] != MARK + hashed:
            raise InputError(
                "is damaged: its hash is not the one that was written",
                where=where,
                remedy="fetch it again, or write it anew",
            )
        return _load_dataset(blob, where)
    return _load_dataset(_convert_elsewhere(blob, where), where)


def is_ours(blob: bytes) -> bool:
    """Tell whether a file ends as ours do, or did before it was damaged: a part of the mark is enough."""
    return blob[-_END:].startswith(MARK) or any(MARK[k : k + 14] in blob for k in (0, 14, 28))


def _load_dataset(blob: bytes, where: str) -> xr.Dataset:
    try:
        with h5py.File(io.BytesIO(blob), "r") as file:
            problem = next(_find_problems(file, most_inside(len(blob))), "")
        data = xr.Dataset() if problem else xr.load_dataset(io.BytesIO(blob), engine="h5netcdf")
    except _DAMAGE as error:
        raise _refuse_file(first_line(error), where) from None
    strange = [str(dim) for dim in data.dims if dim not in DIMENSIONS]
    if strange or problem or not data.data_vars:
        problem_text = problem or (f"dimension {strange[0]!r}" if strange else "no variables")
        raise InputError(f"has {problem_text}", where=where, remedy=f"scores have {', '.join(DIMENSIONS)}")
    return data


def _convert_elsewhere(blob: bytes, where: str) -> bytes:
    """Return a file of another program as one of ours."""
    try:
        done = subprocess.run(
            python_command("shardwise.io.netcdf", where),
            input=blob,
            capture_output=True,
            timeout=LONGEST,
            env=python_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _refuse_file("it takes too long to read", where) from None
    if done.returncode == 2:
        raise InputError(done.stderr.decode("utf-8", "replace").strip())
    if done.returncode:
        raise _refuse_file("it cannot be read to its end", where)
    return done.stdout


def _find_problems(file: Any, most: int) -> Iterator[str]:
    """Yield what no file of scores has: parts in other files, and sizes beyond belief."""
    for name in file:
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            yield f"a link to elsewhere, {name!r}"
            return
        member = file[name]
        if isinstance(member, h5py.Group):
            yield f"a group, {name!r}"
        elif isinstance(member, h5py.Dataset):
            plan = member.id.get_create_plist()
            if plan.get_external_count() or plan.get_layout() == h5py.h5d.VIRTUAL:
                yield f"scores in another file, {name!r}"
            if member.size is not None and member.size * max(member.dtype.itemsize, 8) > most:
                yield f"{member.size:.3g} cells in {name!r}, more than a file of this size can hold"


def _refuse_file(reason: str, where: str) -> InputError:
    return InputError(
        f"not a NetCDF file of scores ({reason})", where=where, remedy="it may be damaged: fetch it again"
    )


def _convert_input() -> None:
    """Read a file from the standard input and write it as one of ours."""
    limit_processor(PATIENCE)
    try:
        sys.stdout.buffer.write(netcdf_bytes(_load_dataset(sys.stdin.buffer.read(), sys.argv[1])))
    except InputError as error:
        sys.stderr.write(str(error))
        sys.exit(2)


if __name__ == "__main__":
    _convert_input()
