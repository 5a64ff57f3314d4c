"""What the shell offers: commands, options, and the names of methods, models, conventions and measures."""

from __future__ import annotations

from collections.abc import Iterable

VARIABLE = "_SHARDWISE_COMPLETE"
"""Environment variable by which a shell asks what could follow."""
SCRIPTS = {
    "bash": """_shardwise_complete() {
    local IFS=$'\\n'
    COMPREPLY=($(_SHARDWISE_COMPLETE=bash COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD "$1"))
}
complete -o default -F _shardwise_complete shardwise
""",
    "zsh": """#compdef shardwise
_shardwise_complete() {
    local -a offered
    offered=("${(@f)$(_SHARDWISE_COMPLETE=zsh COMP_WORDS="${(F)words}" COMP_CWORD=$((CURRENT-1)) shardwise)}")
    compadd -- "${offered[@]}" || _files
}
compdef _shardwise_complete shardwise
""",
    "fish": """function _shardwise_complete
    set -l words (commandline -opc) (commandline -ct)
    _SHARDWISE_COMPLETE=fish COMP_WORDS=(string join \\n $words) COMP_CWORD=(math (count $words) - 1) shardwise
end
complete -c shardwise -a "(_shardwise_complete)"
""",
}
"""What makes a shell complete, by its name."""


def filter_names(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin as what was typed, large and small letters alike.

    >>> filter_names("ndcg", ["AP", "nDCG", "nDCG@10"])
    ['nDCG', 'nDCG@10']
    """
    return sorted(name for name in names if name.lower().startswith(incomplete.lower()))


def complete_methods(incomplete: str) -> list[str]:
    """Methods, and the words that can follow one."""
    from shardwise.methods.names import complete_name  # what completes nothing need not load it

    return complete_name(incomplete)


def complete_models(incomplete: str) -> list[str]:
    """Return names of models."""
    from shardwise.core.model import NAMED

    return filter_names(incomplete, NAMED)


def complete_conventions(incomplete: str) -> list[str]:
    """Return names of presets of conventions."""
    from shardwise.io.trec.conventions import PRESETS

    return filter_names(incomplete, PRESETS)


def complete_measures(incomplete: str) -> list[str]:
    """Return names of measures, the usual cut-offs with them."""
    from shardwise.scoring.measures.definitions import DEFINITIONS

    names = [definition.name for definition in DEFINITIONS]
    return filter_names(
        incomplete, [*names, *(f"{name}@{k}" for name in ("nDCG", "P", "R") for k in (5, 10, 20, 100))]
    )
