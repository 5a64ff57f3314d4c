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

# Table 3, TREC-3, 3 shards: mean, least and largest width by sample, without and with interactions
_TABLE_3 = {
    ("1", "AP"): ((0.065, 0.061, 0.071), (0.033, 0.030, 0.035)),
    ("1", "P@10"): ((0.106, 0.100, 0.113), (0.063, 0.058, 0.069)),
    ("2", "AP"): ((0.065, 0.061, 0.072), (0.032, 0.030, 0.034)),
    ("2", "P@10"): ((0.105, 0.099, 0.112), (0.063, 0.060, 0.068)),
    ("3", "AP"): ((0.068, 0.065, 0.073), (0.037, 0.034, 0.041)),
    ("3", "P@10"): ((0.107, 0.101, 0.113), (0.066, 0.062, 0.074)),
    ("4", "AP"): ((0.065, 0.060, 0.070), (0.030, 0.028, 0.033)),
    ("4", "P@10"): ((0.105, 0.098, 0.112), (0.061, 0.057, 0.064)),
    ("5", "AP"): ((0.065, 0.059, 0.069), (0.030, 0.026, 0.032)),
    ("5", "P@10"): ((0.105, 0.099, 0.114), (0.063, 0.059, 0.068)),
    ("avg", "AP"): ((0.066, 0.061, 0.071), (0.032, 0.030, 0.035)),
    ("avg", "P@10"): ((0.106, 0.099, 0.113), (0.063, 0.059, 0.069)),
}
TABLE_3: Rows = tuple(
    {"measure": measure, "model": model, "trim": "percent", "sample": sample}
    | dict(zip(("width", "least", "largest"), row, strict=True))
    for (sample, measure), rows in _TABLE_3.items()
    for model, row in zip(("MD2", "MD3"), rows, strict=True)
)

# Table 4, TREC-3: pairs by V17's mean, least and largest width, without and with interactions
_TABLE_4 = {
    (2, "AP"): ((577.2, 590.0, 563.2), (711.0, 721.6, 706.0)),
    (2, "P@10"): ((544.6, 558.2, 528.8), (670.4, 678.8, 661.4)),
    (3, "AP"): ((608.8, 622.8, 592.0), (702.8, 708.6, 695.0)),
    (3, "P@10"): ((573.8, 583.2, 562.0), (659.8, 667.6, 638.6)),
    (5, "AP"): ((638.8, 645.6, 629.0), (697.4, 704.8, 695.0)),
    (5, "P@10"): ((597.0, 608.2, 586.4), (656.8, 663.6, 644.0)),
}
TABLE_4: Rows = tuple(
    {"shards": shards, "measure": measure, "model": model, "widths": widths, "significant": pairs}
    for (shards, measure), rows in _TABLE_4.items()
    for model, row in zip(("MD2", "MD3"), rows, strict=True)
    for widths, pairs in zip(("V17 mean", "V17 min", "V17 max"), row, strict=True)
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

_TABLE_6 = {  # PAA, PPA and their half widths, of bANOVA(BH), tANOVA(BH), tANOVA(HSD)
    "MD2": ((0.979, 0.903, 0.001, 0.005), (0.980, 0.924, 0.001, 0.004), (0.979, 0.973, 0.002, 0.003)),
    "MD3": ((0.980, 0.866, 0.001, 0.007), (0.979, 0.896, 0.001, 0.006), (0.977, 0.963, 0.002, 0.004)),
    "MD6": ((0.982, 0.802, 0.001, 0.012), (0.980, 0.850, 0.001, 0.006), (0.981, 0.953, 0.001, 0.003)),
}
TABLE_6: Rows = tuple(
    {"model": model, "approach": approach}
    | dict(zip(("PAA", "PPA", "PAA_half", "PPA_half"), row, strict=True))
    for model, rows in _TABLE_6.items()
    for approach, row in zip(("bANOVA(BH)", "tANOVA(BH)", "tANOVA(HSD)"), rows, strict=True)
)

FILLS = ("zero", "lq", "mean", "one")
_PD = {  # Tables 7 and 8, TREC-8, 5 shards: mean passive disagreements, the upper triangle row by row
    ("MD3", "tANOVA(HSD)"): (230.6, 23.0, 100.2, 89.8, 239.2, 77.2, 85.6, 253.2, 124.4, 265.8),
    ("MD3", "bANOVA(BH)"): (282.6, 5.8, 41.6, 33.2, 280.8, 35.8, 32.6, 285.0, 49.2, 288.4),
    ("MD6", "tANOVA(HSD)"): (222.6, 0.0, 0.0, 0.0, 222.6, 0.0, 0.0, 222.6, 0.0, 222.6),
    ("MD6", "bANOVA(BH)"): (279.2, 0.0, 0.0, 0.0, 279.2, 0.0, 0.0, 279.2, 0.0, 279.2),
}
_PD_HALF = {  # half widths of their confidence intervals
    ("MD3", "tANOVA(HSD)"): (21.55, 15.21, 74.45, 82.47, 22.56, 62.86, 96.98, 32.18, 92.81, 53.21),
    ("MD3", "bANOVA(BH)"): (13.70, 3.45, 24.44, 28.83, 12.99, 21.12, 30.75, 13.24, 40.73, 18.59),
    ("MD6", "tANOVA(HSD)"): (15.392, 0.0, 0.0, 0.0, 15.392, 0.0, 0.0, 15.392, 0.0, 15.392),
    ("MD6", "bANOVA(BH)"): (16.60, 0.0, 0.0, 0.0, 16.60, 0.0, 0.0, 16.60, 0.0, 16.60),
}
_PAIRS_OF_FILLS = [(a, b) for k, a in enumerate(FILLS) for b in FILLS[k:]]
TABLES_7_8: Rows = tuple(
    {
        "shards": 5,
        "model": model,
        "approach": approach,
        "fill": a,
        "other": b,
        "PD": value,
        "half_width": half,
    }
    for (model, approach), values in _PD.items()
    for (a, b), value, half in zip(_PAIRS_OF_FILLS, values, _PD_HALF[model, approach], strict=True)
)
