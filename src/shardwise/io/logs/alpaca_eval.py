"""Annotations of AlpacaEval: preferences between a model and the baseline of all."""

from __future__ import annotations

from typing import Any

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row, number_repeats, parse_verdict, shorten_label
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_object


def recognize_annotations(source: LogSource) -> bool:
    """Tell whether a file is a list of annotations."""
    whole = source.whole if source.ending == ".json" else None
    first = as_object(whole[0]) if isinstance(whole, list) and whole else {}
    return {"instruction", "generator_1", "generator_2", "preference"} <= first.keys()


def read_annotations(source: LogSource) -> list[Log]:
    """Read how far each model is preferred to the baseline: 0 never, 1 always, between as the annotator weighs it."""
    path = source.path
    groups: dict[str, list[dict[str, Any]]] = {}
    baselines = set()
    for line in source.rows:
        groups.setdefault(str(line.get("generator_2")), []).append(line)
        baselines.add(str(line.get("generator_1")))
    if len(baselines) > 1:
        raise InputError(
            f"compares models with {len(baselines)} baselines ({', '.join(sorted(baselines)[:3])})",
            where=str(path),
            remedy="give annotations against one baseline",
        )
    return [_make_log(name, lines, source, baselines.copy().pop()) for name, lines in groups.items()]


def _make_log(name: str, lines: list[dict[str, Any]], source: LogSource, baseline: str) -> Log:
    path = source.path
    items = [shorten_label(line.get("instruction")) for line in lines]
    rows = [
        Row(item, repeat, {"win": parse_verdict(line.get("preference")) - 1.0}, {})
        for line, item, repeat in zip(lines, items, number_repeats(items), strict=True)
    ]
    return Log(
        source=str(path),
        names=(name, f"{name} ({source.folder.name})", str(path)),
        task="AlpacaEval",
        rows=rows,
        primary="win",
        repeats="annotation",
        place=lambda row: f"{path}: {rows[row].item}",
        notes=(f"preferred to {baseline}",),
        item="instruction",
    )


READER = Reader("AlpacaEval annotations", recognize_annotations, read_annotations)
