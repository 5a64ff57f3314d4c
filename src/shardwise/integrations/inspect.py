"""A hook for inspect_ai: after a run of several models it prints which of them differ.

inspect finds it by its entry point, so that nothing has to be called: ``inspect eval task.py --model a,b`` prints the
comparison below its own summary. ``SHARDWISE_INSPECT=0`` switches it off.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

SWITCH = "SHARDWISE_INSPECT"
"""Variable of the environment that switches the hook off where it is 0."""


def compare_logs(locations: Iterable[str | os.PathLike[str]]) -> str:
    """Say which models of some logs of inspect differ significantly.

    Parameters
    ----------
    locations : iterable of paths
        Logs (``.eval`` or ``.json``) in local files; others are left out.

    Returns
    -------
    str
        The comparison for each task, or why there is none; empty for fewer than two models.
    """
    # inspect loads this module with every command, so that what takes long is loaded here
    from shardwise.analysis.analyze import analyze
    from shardwise.core.errors import InputError
    from shardwise.io.scores import read_scores

    parts = [(str(location), urlparse(str(location))) for location in locations]
    local = [unquote(url.path) if url.scheme else text for text, url in parts if url.scheme in ("", "file")]
    paths = [path for path in local if Path(path).is_file()]
    if len(paths) < 2:
        return ""
    try:
        scores = read_scores(paths)
        several = hasattr(scores, "data_vars")
        # the measure that a log shows first
        table = scores[scores.attrs.get("primary") or next(iter(scores.data_vars))] if several else scores
        if table.sizes.get("system", 1) < 2:
            return ""
        return str(analyze(table))
    except InputError as error:
        return f"shardwise: {error}"


def is_enabled() -> bool:
    """Return whether the hook is on: unless ``SHARDWISE_INSPECT`` is 0.

    Returns
    -------
    bool
        Whether comparisons are printed.
    """
    return os.environ.get(SWITCH, "1") != "0"


if TYPE_CHECKING:
    Hooks: Any = object
else:
    try:
        from inspect_ai.hooks import Hooks, hooks
    except ImportError:
        Hooks = None

if Hooks is not None and not TYPE_CHECKING:

    @hooks(name="comparison", description="Prints which models of a run differ significantly.")
    class ComparisonHooks(Hooks):
        """Prints the comparison of the models of a run."""

        def enabled(self) -> bool:
            """Return whether the hook is on."""
            return is_enabled()

        async def on_run_end(self, data: Any) -> None:
            """Print the comparison of the logs that a run wrote."""
            if text := compare_logs(log.location for log in data.logs if log.status == "success"):
                print(f"\n{text}\n")
