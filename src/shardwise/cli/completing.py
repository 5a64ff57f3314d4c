"""What the shell offers where a method, a model or a measure is asked for."""

from __future__ import annotations

from collections.abc import Iterable


def filter_names(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin as what was typed, large and small letters alike.

    >>> filter_names("ndcg", ["AP", "nDCG", "nDCG@10"])
    ['nDCG', 'nDCG@10']
    """
    return sorted(name for name in names if name.lower().startswith(incomplete.lower()))


def complete_methods(incomplete: str) -> list[str]:
    """Methods, and the words that can follow one."""
    from shardwise.methods.registry import complete_name  # what completes nothing need not load it

    return complete_name(incomplete)


def complete_models(incomplete: str) -> list[str]:
    """Names of models."""
    from shardwise.core.model import NAMED

    return filter_names(incomplete, NAMED)


def complete_conventions(incomplete: str) -> list[str]:
    """Names of presets of conventions."""
    from shardwise.io.trec.conventions import PRESETS

    return filter_names(incomplete, PRESETS)


def complete_measures(incomplete: str) -> list[str]:
    """Names of measures, the usual cut-offs with them."""
    from shardwise.scoring.measures.definitions import DEFINITIONS

    names = [definition.name for definition in DEFINITIONS]
    return filter_names(
        incomplete, [*names, *(f"{name}@{k}" for name in ("nDCG", "P", "R") for k in (5, 10, 20, 100))]
    )
