"""What Ferro & Sanderson (2019) printed: figures of TREC-8 (129 runs), TREC-9 (104) and TREC-27 (72), AP."""

from __future__ import annotations

from typing import Any

FIGURES = ("omega_sq", "significant", "not_significant", "top_group")

_TABLE_1 = {  # by shards and model
    0: {"MD1": (0.3991, 3423, 4833, 7)},
    2: {
        "MD2": (0.3500, 4067, 4189, 4),
        "MD3": (0.5678, 5175, 3081, 1),
        "MD4": (0.5693, 5180, 3076, 1),
        "MD5": (0.5675, 5173, 3083, 1),
        "MD6": (0.7143, 5889, 2367, 1),
    },
    5: {
        "MD2": (0.2556, 4607, 3649, 2),
        "MD3": (0.3495, 5133, 3123, 1),
        "MD4": (0.3511, 5140, 3116, 1),
        "MD5": (0.3486, 5129, 3127, 1),
        "MD6": (0.5235, 5935, 2321, 1),
    },
    10: {
        "MD2": (0.1595, 4614, 3642, 2),
        "MD3": (0.1840, 4831, 3425, 1),
        "MD4": (0.1849, 4833, 3423, 1),
        "MD5": (0.1829, 4818, 3438, 1),
        "MD6": (0.3777, 5947, 2309, 1),
    },
}
TABLE_1: tuple[dict[str, Any], ...] = tuple(
    {"measure": "AP", "shards": max(shards, 1), "model": model, **dict(zip(FIGURES, row, strict=True))}
    for shards, models in _TABLE_1.items()
    for model, row in models.items()
)

_TABLE_2 = {  # τ, width of the intervals, significant pairs, these over all pairs
    "T08": {
        2: (0.9803, 0.0540, 5142.20, 0.6228),
        3: (0.9745, 0.0551, 5085.90, 0.6160),
        4: (0.9680, 0.0546, 5104.10, 0.6182),
        5: (0.9689, 0.0549, 5051.20, 0.6118),
        10: (0.9613, 0.0538, 5008.70, 0.6067),
        25: (0.9418, 0.0445, 5242.80, 0.6350),
        50: (0.9189, 0.0351, 5462.40, 0.6616),
    },
    "T09": {
        2: (0.9609, 0.0732, 2808.30, 0.5243),
        3: (0.9453, 0.0717, 2874.00, 0.5366),
        4: (0.9380, 0.0683, 2947.70, 0.5504),
        5: (0.9275, 0.0657, 3034.50, 0.5666),
        10: (0.9037, 0.0530, 3426.80, 0.6398),
        25: (0.8813, 0.0389, 3748.00, 0.6998),
        50: (0.8675, 0.0288, 3893.60, 0.7270),
    },
    "T27": {
        2: (0.9764, 0.0460, 1821.50, 0.7126),
        3: (0.9634, 0.0495, 1791.20, 0.7008),
        4: (0.9617, 0.0485, 1800.10, 0.7043),
        5: (0.9583, 0.0480, 1802.70, 0.7053),
        10: (0.9470, 0.0460, 1822.80, 0.7131),
        25: (0.9219, 0.0410, 1848.30, 0.7231),
        50: (0.8812, 0.0337, 1853.30, 0.7251),
    },
}
TABLE_2: tuple[dict[str, Any], ...] = tuple(
    {"collection": collection, "measure": "AP", "shards": shards, "model": "MD6"}
    | dict(zip(("tau", "width", "significant", "share"), row, strict=True))
    for collection, rows in _TABLE_2.items()
    for shards, row in rows.items()
)
PAIRS = {"T08": 8256, "T09": 5356, "T27": 2556}
"""Pairs of runs of each track."""
