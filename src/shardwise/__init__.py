"""Tell retrieval systems apart, and know what you may claim.

Public names are loaded on first use, so that ``import shardwise`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shardwise.errors import InputError as InputError
    from shardwise.errors import InputWarning as InputWarning

_HOMES = {
    "InputError": "errors",
    "InputWarning": "errors",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"shardwise.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'shardwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
