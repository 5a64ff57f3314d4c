"""Two reports -> what they have in common and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Report = Mapping[str, Any]
BETTER, WORSE, NEITHER = "better", "worse", "tied"


def compare_reports(a: Report, b: Report) -> dict[str, Any]:
    """Return what two reports say of the same systems: settings, places, means, and pairs judged differently.

    Parameters
    ----------
    a, b
        What ``report.json`` holds.
    """
    first, second = ({str(row["system"]): row for row in report["systems"]} for report in (a, b))
    common = [name for name in first if name in second]
    judged, other = dict(_list_verdicts(a)), dict(_list_verdicts(b))
    shared = [pair for pair in judged if pair in other]
    changed = [(*pair, judged[pair], other[pair]) for pair in shared if judged[pair] != other[pair]]
    return {
        "settings": [
            (name, a["configuration"].get(name), b["configuration"].get(name))
            for name in {**a["configuration"], **b["configuration"]}
            if a["configuration"].get(name) != b["configuration"].get(name) and name != "scores_sha256"
        ],
        "same_scores": a["configuration"].get("scores_sha256") == b["configuration"].get("scores_sha256"),
        "systems": [
            {
                "name": name,
                "ranks": (first[name]["rank"], second[name]["rank"]),
                "means": (first[name]["mean"], second[name]["mean"]),
            }
            for name in common
        ],
        "only": ([n for n in first if n not in second], [n for n in second if n not in first]),
        "pairs": len(shared),
        "changed": changed,
        "reversed": sum({then, now} == {BETTER, WORSE} for _, _, then, now in changed),
    }


def _list_verdicts(report: Report) -> Iterator[tuple[tuple[str, str], str]]:
    """What the leading claim says of every pair, its systems in alphabetical order."""
    lead = next(claim for claim in report["claims"] if claim["leads"])
    names = [str(row["system"]) for row in report["systems"]]
    pairs = report["pairs"][lead["key"]]
    for i, j, difference, p in zip(
        pairs["a"], pairs["b"], pairs["difference"], pairs["p_adjusted"], strict=True
    ):
        a, b, sign = names[i], names[j], difference or 0.0
        if b < a:
            a, b, sign = b, a, -sign
        significant = p is not None and p <= lead["alpha"]
        yield (a, b), (BETTER if sign > 0 else WORSE) if significant else NEITHER
