"""Two reports -> what changed from one to the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shardwise.app.wording import write_changes
from shardwise.writing.numbers import format_number, format_signed

Report = Mapping[str, Any]
BETTER, WORSE, NEITHER = "better", "worse", "tied"
DECIMALS = 3
HIDDEN = ("scores_sha256",)
"""Settings that say nothing to people."""


def compare_reports(a: Report, b: Report) -> dict[str, Any]:
    """Return what two reports say of the same systems: settings, ranks, means, and pairs judged differently.

    Parameters
    ----------
    a, b
        What ``report.json`` holds, the older first.
    """
    first, second = (_list_systems(report) for report in (a, b))
    common = [name for name in second if name in first]
    judged, other = dict(_list_verdicts(a)), dict(_list_verdicts(b))
    shared = [pair for pair in other if pair in judged]
    changed = [(*pair, judged[pair], other[pair]) for pair in shared if judged[pair] != other[pair]]
    systems = [_compare_system(name, first[name], second[name]) for name in common]
    found = {
        "settings": [
            (name, *values)
            for name in {**a["configuration"], **b["configuration"]}
            if name not in HIDDEN
            and (values := (a["configuration"].get(name), b["configuration"].get(name)))
            and values[0] != values[1]
        ],
        "same_scores": a["configuration"].get("scores_sha256") == b["configuration"].get("scores_sha256"),
        "systems": systems,
        "only": ([n for n in first if n not in second], [n for n in second if n not in first]),
        "listed": all(_find_pairs(report) is not None for report in (a, b)),
        "pairs": len(shared),
        "changed": changed,
        "gained": sum(then == NEITHER for _, _, then, _ in changed),
        "lost": sum(now == NEITHER for _, _, _, now in changed),
        "reversed": sum({then, now} == {BETTER, WORSE} for _, _, then, now in changed),
    }
    return {**found, "sentences": write_changes(found)}


def _list_systems(report: Report) -> dict[str, Mapping[str, Any]]:
    """The rows of the systems by name, with the rank range of the claim that leads."""
    key = next(claim for claim in report["claims"] if claim["leads"])["key"]
    return {
        str(row["system"]): {
            "rank": row["rank"],
            "mean": row["mean"],
            "best": row.get(f"rank_best_{key}"),
            "worst": row.get(f"rank_worst_{key}"),
        }
        for row in report["systems"]
    }


def _compare_system(name: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """One system in both analyses."""
    means = (first["mean"], second["mean"])
    known = None not in means
    change = means[1] - means[0] if known else None
    return {
        "name": name,
        "places": (first["rank"], second["rank"]),
        "moved": first["rank"] - second["rank"],
        "ranks": tuple(_format_ranks(row) for row in (first, second)),
        "means": tuple("–" if mean is None else format_number(mean, DECIMALS) for mean in means),
        "mean_change": change,
        "change": "" if change is None else format_signed(change, DECIMALS) if change else "0",
    }


def _format_ranks(row: Mapping[str, Any]) -> str:
    """The ranks that a system may have; a dash where no ranges are known."""
    best, worst = row["best"], row["worst"]
    if best is None or worst is None:
        return "–"
    return f"{best}" if best == worst else f"{best}–{worst}"


def _find_pairs(report: Report) -> Mapping[str, Any] | None:
    """The pairs of the leading claim; None where they are too many to be in the report."""
    key = next(claim for claim in report["claims"] if claim["leads"])["key"]
    pairs: Mapping[str, Any] | None = report["pairs"][key]
    return pairs


def _list_verdicts(report: Report) -> Iterator[tuple[tuple[str, str], str]]:
    """What the leading claim says of every pair, its systems in alphabetical order."""
    lead = next(claim for claim in report["claims"] if claim["leads"])
    names: Sequence[str] = [str(row["system"]) for row in report["systems"]]
    pairs = _find_pairs(report)
    if pairs is None:
        return
    turn = -1.0 if report["configuration"].get("lower_is_better") else 1.0
    for i, j, difference, p in zip(
        pairs["a"], pairs["b"], pairs["difference"], pairs["p_adjusted"], strict=True
    ):
        a, b, sign = names[i], names[j], turn * (difference or 0.0)
        if b < a:
            a, b, sign = b, a, -sign
        significant = p is not None and p <= lead["alpha"]
        yield (a, b), (BETTER if sign > 0 else WORSE) if significant else NEITHER
