"""Reports of SWE-bench: which instances a submission resolved.

Run reports and the ``results.json`` of submissions list ids; ``eval_results.json`` says true or false for each;
``report.json`` is of one instance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from shardwise.core.claim import format_count
from shardwise.io.logs.log import Log, Row, make_log
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object

_LISTS = (
    "submitted_ids", "completed_ids", "incomplete_ids", "empty_patch_ids", "resolved_ids", "resolved", "unresolved_ids",
    "error_ids", "infra_failure_ids", "ambiguous_failure_ids",
)  # fmt: skip
_ID = re.compile(r"(instance_)?[\w.\-]+__[\w.\-]+")


def recognize_report(source: LogSource) -> bool:
    """Tell whether a file is a report of one of the kinds."""
    whole = source.fields
    if not whole:
        return False
    lists = "total_instances" in whole and isinstance(whole.get("resolved_ids", whole.get("resolved")), list)
    ids = all(_ID.fullmatch(key) for key in whole)
    flat = ids and all(isinstance(value, bool) for value in whole.values())
    single = ids and all("resolved" in as_object(value) for value in whole.values())
    return lists or flat or single


def read_report(source: LogSource) -> list[Log]:
    """Read whether each instance was resolved; one that was not submitted counts as not resolved."""
    whole = source.fields
    notes: tuple[str, ...] = ()
    if "total_instances" in whole:
        scores, notes = _read_lists(whole)
        model = source.stem.rpartition(".")[0] or source.stem
        if source.path.name == "results.json":
            model = source.folder.parent.name if source.folder.name == "results" else source.folder.name
    else:
        outcomes = {
            key: value.get("resolved") if isinstance(value, dict) else value for key, value in whole.items()
        }
        scores = {key: {"resolved": float(bool(outcome))} for key, outcome in outcomes.items()}
        single = source.path.name == "report.json" and len(scores) == 1
        model = source.folder.parent.name if single else source.folder.name
        if source.path.name not in ("report.json", "eval_results.json"):
            model = source.stem
    rows = [Row(item, "1", values, {"group": _name_repository(item)}) for item, values in scores.items()]
    return [
        make_log(
            source.path,
            model,
            rows,
            task="SWE-bench",
            repeats="run",
            others=(f"{source.folder.parent.name}/{source.folder.name}",),
            notes=notes,
            item="instance",
            system="submission",
        )
    ]


def _read_lists(whole: Mapping[str, Any]) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Return the outcome of every instance of a report, over all instances and over those submitted."""
    ids = dict.fromkeys(str(item) for name in _LISTS for item in as_list(whole.get(name)))
    resolved = {str(item) for item in as_list(whole.get("resolved_ids", whole.get("resolved")))}
    submitted = {str(item) for item in as_list(whole.get("submitted_ids"))} or set(ids)
    scores = {
        item: {
            "resolved": float(item in resolved),
            "resolved,submitted": float(item in resolved) if item in submitted else np.nan,
        }
        for item in ids
    }
    total = whole.get("total_instances")
    unlisted = total - len(ids) if isinstance(total, int) else 0
    notes = (f"{format_count(unlisted, 'instance')} counted but not listed",) if unlisted > 0 else ()
    return scores, notes


def _name_repository(item: str) -> str:
    """Return the repository of an instance, which its id begins with."""
    owner, _, rest = item.removeprefix("instance_").partition("__")
    return f"{owner}/{re.split(r'-[0-9a-f]{7,}|-[0-9]+$', rest)[0]}"


READER = Reader("SWE-bench report", recognize_report, read_report)
