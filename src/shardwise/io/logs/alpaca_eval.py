"""Annotations of AlpacaEval: preferences between a model and the baseline of all."""

from __future__ import annotations

from typing import Any

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, make_log, parse_verdict, score_answers, shorten_label
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_object


def recognize_annotations(source: LogSource) -> bool:
    """Tell whether a file is a list of annotations."""
    whole = source.whole if source.ending == ".json" else None
    first = as_object(whole[0]) if isinstance(whole, list) and whole else {}
    return {"instruction", "generator_1", "generator_2", "preference"} <= first.keys()


def read_annotations(source: LogSource) -> list[Log]:
    """Read how far each model is preferred to the baseline: 0 never, 1 always, between as the annotator weighs it."""
    groups: dict[str, list[dict[str, Any]]] = {}
    baselines = set()
    for line in source.rows:
        groups.setdefault(str(line.get("generator_2")), []).append(line)
        baselines.add(str(line.get("generator_1")))
    if len(baselines) > 1:
        raise InputError(
            f"compares models with {len(baselines)} baselines ({', '.join(sorted(baselines)[:3])})",
            where=str(source.path),
            remedy="give annotations against one baseline",
        )
    notes = tuple(f"preferred to {baseline}" for baseline in baselines)
    return [
        make_log(
            source.path,
            name,
            score_answers(
                source.path,
                lines,
                lambda line: shorten_label(line.get("instruction")),
                lambda line: {"win": parse_verdict(line.get("preference")) - 1.0},
            ),
            task="AlpacaEval",
            repeats="annotation",
            others=(f"{name} ({source.folder.name})",),
            notes=notes,
            item="instruction",
        )
        for name, lines in groups.items()
    ]


READER = Reader("AlpacaEval annotations", recognize_annotations, read_annotations)
