"""Large libraries under their usual names, each loaded when something of it is first used.

A small table is read, compared and answered without pandas, xarray and Arrow: to load these takes longer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["pa", "pc", "pd", "xr"]

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc
    import xarray as xr
else:

    class Library:
        """A module that is not loaded before one of its names is looked up."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            """Return what the module calls by this name."""
            return getattr(import_module(self._name), name)

    pa, pc = Library("pyarrow"), Library("pyarrow.compute")
    pd, xr = Library("pandas"), Library("xarray")
