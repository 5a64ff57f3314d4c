"""Error rates against the level they promise, and power over the size of the difference."""

from __future__ import annotations

import pandas as pd
import pytest

from chart_rows import rows_with, titles
from shardwise.core.errors import InputError
from shardwise.plot.lab import error_rate_chart, power_chart

RATES = pd.DataFrame(
    [
        ("MD6 hsd", "these topics", "family", 0.048, 0.036, 0.062, 0.05),
        ("MD3 bh", "these topics", "discovery", 0.021, 0.013, 0.032, 0.05),
        ("MD6 hsd", "topics like these", "family", 0.99, 0.98, 0.995, 0.05),
        ("MD3 bh", "topics like these", "discovery", 0.24, 0.21, 0.27, 0.05),
    ],
    columns=["method", "claim", "error_rate", "rate", "low", "high", "nominal"],
)


def test_one_panel_a_claim_with_its_level() -> None:
    chart = error_rate_chart(RATES)
    assert len(chart.to_dict()["vconcat"]) == 2
    drawn = [row for rows in rows_with(chart, "method", "rate") for row in rows]
    assert [row["rate"] for row in drawn] == RATES["rate"].tolist()
    assert [row["high"] for row in drawn] == RATES["high"].tolist()
    verdicts = ["contains the level", "below the level", "above the level", "above the level"]
    assert [row["verdict"] for row in drawn] == verdicts
    assert [row["method"] for row in drawn][:2] == ["MD6 hsd (family)", "MD3 bh (discovery)"]
    assert {row["at"] for rows in rows_with(chart, "at") for row in rows} == {0.05}
    assert '"type": "sqrt"' in titles(chart)


@pytest.mark.slow
def test_a_method_with_several_promises_has_several_panels() -> None:
    coverage = RATES.assign(error_rate="coverage", rate=0.95, low=0.93, high=0.97, nominal=0.95)
    chart = error_rate_chart(pd.concat([RATES.assign(error_rate="family"), coverage]))
    assert [len(row["hconcat"]) for row in chart.to_dict()["vconcat"]] == [2, 2]
    assert '"exponent": 6' in titles(chart)


def test_power() -> None:
    powers = pd.DataFrame(
        [
            (m, d, d * k, d * k - 0.01, d * k + 0.01)
            for m, k in (("a", 5), ("b", 8))
            for d in (0.02, 0.05, 0.1)
        ],
        columns=["method", "difference", "power", "low", "high"],
    )
    chart = power_chart(powers, measure="AP")
    (rows,) = rows_with(chart, "difference", "power")
    assert pd.DataFrame(rows)[list(powers.columns)].to_dict() == powers.to_dict()
    assert "true difference in AP" in titles(chart)
    two = pd.concat([powers.assign(claim="here"), powers.assign(claim="there")])
    assert len(power_chart(two).to_dict()["hconcat"]) == 2


def test_refusals() -> None:
    with pytest.raises(InputError, match="no column 'nominal'"):
        error_rate_chart(RATES.drop(columns="nominal"))
    with pytest.raises(InputError, match="no rows"):
        error_rate_chart(RATES.iloc[:0])
