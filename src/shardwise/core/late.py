"""Registry of functions by name, so that core objects can call plotting and report functions without importing them."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in typing, which would be a third of what ``import shardwise`` takes
if TYPE_CHECKING:
    from typing import Any

_PLACES: dict[str, str] = {}


def bind_names(**places: str) -> None:
    """Say where to find what lower rooms may call: ``bind_names(chart="package.module:function")``."""
    _PLACES.update(places)


def call_bound(name: str, /, *arguments: Any, **options: Any) -> Any:
    """Call what was bound to this name, importing it on first use."""
    module, _, function = _PLACES[name].partition(":")
    return getattr(importlib.import_module(module), function)(*arguments, **options)
