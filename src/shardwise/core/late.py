"""What a lower room may ask of a higher one, bound by name where the package is put together.

Numbers do not depend on charts, nor nouns on files; yet a result can be asked for its chart, and scores for a path.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in typing, which would be a third of what ``import shardwise`` takes
if TYPE_CHECKING:
    from typing import Any

_PLACES: dict[str, str] = {}


def bind(**places: str) -> None:
    """Say where to find what lower rooms may call: ``bind(chart="package.module:function")``."""
    _PLACES.update(places)


def call(name: str, /, *arguments: Any, **options: Any) -> Any:
    """Call what was bound to this name, importing it on first use."""
    module, _, function = _PLACES[name].partition(":")
    return getattr(importlib.import_module(module), function)(*arguments, **options)
