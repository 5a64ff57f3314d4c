"""What Faggioli & Ferro (2021) printed; their MD1, MD2 and MD3 have F19's names MD2, MD3 and MD6 here."""

from __future__ import annotations

from typing import Any

Rows = tuple[dict[str, Any], ...]

# Tables 1 and 2, TREC-3: mean, least and largest width and pairs found, one and two tails, by shards and measure
_WIDTHS = {
    (2, "AP"): ((0.045, 0.044, 0.045, 683.8), (0.016, 0.016, 0.017, 749.0), (0.045, 0.044, 0.046, 661.4),
                (0.016, 0.016, 0.017, 743.2)),
    (2, "P@10"): ((0.078, 0.076, 0.080, 666.0), (0.038, 0.037, 0.039, 728.0), (0.078, 0.076, 0.080, 639.6),
                  (0.038, 0.037, 0.039, 717.4)),
    (3, "AP"): ((0.038, 0.037, 0.039, 699.4), (0.018, 0.018, 0.019, 746.2), (0.038, 0.038, 0.039, 678.8),
                (0.019, 0.018, 0.019, 739.6)),
    (3, "P@10"): ((0.062, 0.061, 0.063, 682.2), (0.037, 0.036, 0.037, 727.0), (0.062, 0.061, 0.064, 662.4),
                  (0.037, 0.036, 0.038, 717.8)),
    (5, "AP"): ((0.033, 0.032, 0.033, 714.4), (0.020, 0.020, 0.021, 742.2), (0.033, 0.032, 0.034, 696.0),
                (0.020, 0.020, 0.021, 734.8)),
    (5, "P@10"): ((0.046, 0.045, 0.047, 697.0), (0.031, 0.030, 0.032, 723.0), (0.047, 0.046, 0.048, 677.6),
                  (0.031, 0.030, 0.032, 712.0)),
}  # fmt: skip
TABLES_1_2: Rows = tuple(
    {"shards": shards, "measure": measure, "model": ("MD2", "MD3")[k % 2], "tails": 1 + k // 2}
    | dict(zip(("width", "least", "largest", "significant"), row, strict=True))
    for (shards, measure), rows in _WIDTHS.items()
    for k, row in enumerate(rows)
)

# Table 3, TREC-3, 3 shards: average over five samples
TABLE_3: Rows = tuple(
    {
        "measure": measure,
        "model": model,
        "trim": "percent",
        "width": width,
        "least": least,
        "largest": largest,
    }
    for measure, model, width, least, largest in (
        ("AP", "MD2", 0.066, 0.061, 0.071),
        ("P@10", "MD2", 0.106, 0.099, 0.113),
        ("AP", "MD3", 0.032, 0.030, 0.035),
        ("P@10", "MD3", 0.063, 0.059, 0.069),
    )
)

# Table 5, TREC-8 (8256 pairs): pairs found, and those beyond the approaches that follow
TABLE_5: Rows = tuple(
    {"model": model, "approach": approach, "other": other, "pairs": pairs, "half_width": half}
    for model, approach, other, pairs, half in (
        ("MD2", "bANOVA(raw)", "bANOVA(raw)", 6866.6, 36.965),
        ("MD2", "bANOVA(raw)", "tANOVA(BH)", 329.2, 22.027),
        ("MD2", "bANOVA(raw)", "tANOVA(HSD)", 2275.8, 39.844),
        ("MD2", "tANOVA(BH)", "tANOVA(BH)", 6537.4, 57.107),
        ("MD2", "tANOVA(BH)", "tANOVA(HSD)", 1946.6, 23.190),
        ("MD2", "tANOVA(HSD)", "tANOVA(HSD)", 4590.8, 75.850),
        ("MD3", "bANOVA(raw)", "bANOVA(raw)", 7231.8, 51.085),
        ("MD3", "bANOVA(raw)", "tANOVA(BH)", 375.2, 17.436),
        ("MD3", "bANOVA(raw)", "tANOVA(HSD)", 2133.4, 70.456),
        ("MD3", "tANOVA(BH)", "tANOVA(BH)", 6856.6, 65.859),
        ("MD3", "tANOVA(BH)", "tANOVA(HSD)", 1758.2, 54.580),
        ("MD3", "tANOVA(HSD)", "tANOVA(HSD)", 5098.4, 113.429),
        ("MD6", "bANOVA(raw)", "bANOVA(raw)", 7563.4, 15.273),
        ("MD6", "bANOVA(raw)", "tANOVA(BH)", 262.0, 11.681),
        ("MD6", "bANOVA(raw)", "tANOVA(HSD)", 1655.8, 25.377),
        ("MD6", "tANOVA(BH)", "tANOVA(BH)", 7301.4, 11.734),
        ("MD6", "tANOVA(BH)", "tANOVA(HSD)", 1393.8, 32.585),
        ("MD6", "tANOVA(HSD)", "tANOVA(HSD)", 5907.6, 37.359),
    )
)

_TABLE_6 = {  # PAA and PPA of bANOVA(BH), tANOVA(BH), tANOVA(HSD)
    "MD2": ((0.979, 0.903), (0.980, 0.924), (0.979, 0.973)),
    "MD3": ((0.980, 0.866), (0.979, 0.896), (0.977, 0.963)),
    "MD6": ((0.982, 0.802), (0.980, 0.850), (0.981, 0.953)),
}
TABLE_6: Rows = tuple(
    {"model": model, "approach": approach, "PAA": paa, "PPA": ppa}
    for model, rows in _TABLE_6.items()
    for approach, (paa, ppa) in zip(("bANOVA(BH)", "tANOVA(BH)", "tANOVA(HSD)"), rows, strict=True)
)

FILLS = ("zero", "lq", "mean", "one")
_PD = {  # Tables 7 and 8, TREC-8, 5 shards: mean passive disagreements, the upper triangle row by row
    ("MD3", "tANOVA(HSD)"): (230.6, 23.0, 100.2, 89.8, 239.2, 77.2, 85.6, 253.2, 124.4, 265.8),
    ("MD3", "bANOVA(BH)"): (282.6, 5.8, 41.6, 33.2, 280.8, 35.8, 32.6, 285.0, 49.2, 288.4),
    ("MD6", "tANOVA(HSD)"): (222.6, 0.0, 0.0, 0.0, 222.6, 0.0, 0.0, 222.6, 0.0, 222.6),
    ("MD6", "bANOVA(BH)"): (279.2, 0.0, 0.0, 0.0, 279.2, 0.0, 0.0, 279.2, 0.0, 279.2),
}
_PLACES = [(a, b) for k, a in enumerate(FILLS) for b in FILLS[k:]]
TABLES_7_8: Rows = tuple(
    {"shards": 5, "model": model, "approach": approach, "fill": a, "other": b, "PD": value}
    for (model, approach), values in _PD.items()
    for (a, b), value in zip(_PLACES, values, strict=True)
)
