"""A calibration -> what its page shows: one verdict, one chart, and the rest folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shardwise.app.wording import RATE_COLUMNS, RATE_VERDICTS
from shardwise.lab.calibrate import Calibration
from shardwise.writing.answer import CONTROLLED
from shardwise.writing.axis import WIDTH, make_axis
from shardwise.writing.calibration import write_calibration

CONTROLS = {**CONTROLLED, "pair": "each pair alone"}
"""Error rates that methods control."""


def describe_calibration_page(
    lab: Calibration, nouns: Mapping[str, str], *, final: bool = True
) -> dict[str, Any]:
    """Return what the page of a calibration shows.

    Parameters
    ----------
    lab
        Measured error rates.
    nouns
        The user's own words for dimensions.
    final
        Whether all tables were simulated; before that nothing is said of the methods.
    """
    words = write_calibration(lab, nouns) if final else []
    claims = list(dict.fromkeys(map(str, lab.table["claim"])))
    first = (
        words[0].claim if words else next((claim for claim in claims if claim.startswith("new ")), claims[0])
    )
    return {
        "words": [
            {"claim": item.claim, "verdict": item.verdict, "sentences": list(item.sentences)}
            for item in words
        ],
        "charts": [
            draw_rates(lab, claim, final=final) for claim in sorted(claims, key=lambda claim: claim != first)
        ],
        "about": f"{lab.scores}; {lab.repetitions:,} data sets per scenario, seed {lab.seed}",
        "notes": list(lab.notes),
        "columns": list(RATE_COLUMNS.values()),
        "tables": {claim: _list_methods(lab, claim) for claim in claims},
    }


def draw_rates(lab: Calibration, claim: str, *, final: bool = True) -> dict[str, Any]:
    """Return the false-alarm rates of the methods made for a claim, with their intervals, in per cent of the width.

    Parameters
    ----------
    lab
        Measured error rates.
    claim
        What the methods are used for.
    final
        Whether what was shown of each method is said.
    """
    table = lab.table[(lab.table["claim"] == claim) & lab.table["meant"]]
    if not len(table):
        table = lab.table[lab.table["claim"] == claim]
    ranked = table["error_rate"].map(list(CONTROLS).index)
    table = (
        table[np.isfinite(table["rate"])].assign(ranked=ranked).sort_values(["ranked", "rate"], kind="stable")
    )
    axis = make_axis([0.0, 2.0 * lab.alpha, *table["high"]])

    def locate(value: float) -> float:
        return round(100.0 * axis.locate_value(value) / WIDTH, 2)

    default = {
        advice.declared for verdict in lab.verdicts for advice in verdict.advice if verdict.claim == claim
    }
    return {
        "claim": claim,
        "alpha": lab.alpha,
        "nominal": locate(lab.alpha),
        "more": len(table) < int((lab.table["claim"] == claim).sum()),
        "ticks": [(locate(tick), f"{100 * tick:g}%") for tick in axis.ticks if tick >= 0.0],
        "rows": [
            {
                "method": str(row["method"]),
                "default": row["method"] in default,
                "controls": CONTROLS[str(row["error_rate"])],
                "low": locate(row["low"]),
                "high": locate(row["high"]),
                "middle": locate(row["rate"]),
                "rate": f"{100 * row['rate']:.1f}% ({100 * row['low']:.1f} to {100 * row['high']:.1f})",
                "status": str(row["status"]) if final else "unclear",
                "shown": RATE_VERDICTS[str(row["status"])] if final else "",
            }
            for row in table.to_dict("records")
        ],
    }


def _list_methods(lab: Calibration, claim: str) -> list[list[str]]:
    """The table of all methods, those that are not made for the claim too."""
    shown = lab.shown()
    shown = shown[shown["claim"] == claim]
    return [
        [CONTROLS.get(str(row[name]), str(row[name])) for name in RATE_COLUMNS]
        for row in shown.to_dict("records")
    ]
