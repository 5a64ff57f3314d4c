"""What Voorhees, Samarov & Soboroff (2017) printed for TREC-3 (780 pairs), TREC-8 (8256) and Terabyte 2006 (3160)."""

from __future__ import annotations

from typing import Any

Rows = tuple[dict[str, Any], ...]
SAMPLED = "xinfAP"  # V17 §4 says infAP, and means the extended one of a pool sampled by strata

_TABLE_3 = {  # mean, least and largest width without and with interactions, by collection, measure and shards
    ("TREC-3", "AP", 2): ((0.075, 0.071, 0.082), (0.029, 0.026, 0.031)),
    ("TREC-3", "AP", 3): ((0.064, 0.060, 0.069), (0.032, 0.030, 0.034)),
    ("TREC-3", "AP", 5): ((0.055, 0.052, 0.058), (0.033, 0.031, 0.034)),
    ("TREC-3", "P@10", 2): ((0.130, 0.122, 0.140), (0.065, 0.061, 0.069)),
    ("TREC-3", "P@10", 3): ((0.106, 0.099, 0.112), (0.065, 0.061, 0.071)),
    ("TREC-3", "P@10", 5): ((0.081, 0.076, 0.086), (0.055, 0.052, 0.060)),
    ("TREC-8", "AP", 2): ((0.088, 0.082, 0.094), (0.039, 0.035, 0.042)),
    ("TREC-8", "AP", 3): ((0.078, 0.070, 0.084), (0.044, 0.040, 0.047)),
    ("TREC-8", "AP", 5): ((0.069, 0.065, 0.074), (0.049, 0.046, 0.053)),
    ("TREC-8", "P@10", 2): ((0.122, 0.115, 0.134), (0.061, 0.055, 0.065)),
    ("TREC-8", "P@10", 3): ((0.098, 0.093, 0.109), (0.061, 0.057, 0.067)),
    ("TREC-8", "P@10", 5): ((0.071, 0.066, 0.076), (0.048, 0.045, 0.053)),
    ("Terabyte", SAMPLED, 2): ((0.064, 0.060, 0.071), (0.032, 0.030, 0.035)),
    ("Terabyte", SAMPLED, 3): ((0.058, 0.055, 0.064), (0.037, 0.035, 0.040)),
}
TABLE_3: Rows = tuple(
    {"collection": collection, "measure": measure, "shards": shards, "model": model}
    | dict(zip(("width", "least", "largest"), row, strict=True))
    for (collection, measure, shards), rows in _TABLE_3.items()
    for model, row in zip(("MD2", "MD3"), rows, strict=True)
)

ALPHAS = (0.05, 0.01)
_PAIRS = {"TREC-3": 780, "TREC-8": 8256, "Terabyte": 3160}
_TABLE_4 = {  # pairs found at .05 and .01
    ("TREC-3", "AP"): ((409, 310), (619, 544), (741, 728), (743, 730), (733, 723)),
    ("TREC-3", "P@10"): ((411, 324), (579, 491), (712, 693), (712, 700), (677, 656)),
    ("TREC-8", "AP"): ((4164, 3437), (6325, 5571), (7413, 7150), (7510, 7269), (7152, 6901)),
    ("TREC-8", "P@10"): ((4317, 3695), (5663, 4903), (7112, 6786), (7254, 6930), (6616, 6324)),
    ("Terabyte", SAMPLED): ((1261, 976), (2114, 1700), (2662, 2540), (2742, 2637), (2595, 2447)),
}
TESTS = ("unpaired t", "randomization, one-sided", "3 parts", "2 parts", "multiple 2 parts")
TABLE_4: Rows = tuple(
    {"collection": collection, "measure": measure, "test": test, "alpha": alpha, "pairs": pairs}
    | {"share": pairs / _PAIRS[collection]}
    for (collection, measure), rows in _TABLE_4.items()
    for test, counts in zip(TESTS, rows, strict=True)
    for alpha, pairs in zip(ALPHAS, counts, strict=True)
)

_TABLE_5 = {  # pairs by how eleven splits are divided, at .05 and .01
    ("TREC-3", "AP"): ((8, 12), (5, 5), (2, 2), (1, 3), (2, 1), (18, 23)),
    ("TREC-3", "P@10"): ((23, 33), (17, 15), (17, 17), (11, 12), (14, 8), (82, 85)),
    ("TREC-8", "AP"): ((235, 229), (133, 132), (92, 111), (95, 96), (86, 99), (641, 667)),
    ("TREC-8", "P@10"): ((357, 343), (244, 242), (182, 181), (155, 166), (165, 141), (1103, 1073)),
    ("Terabyte", SAMPLED): ((95, 111), (60, 62), (43, 52), (38, 41), (33, 40), (269, 306)),
}
TABLE_5: Rows = tuple(
    {"collection": collection, "measure": measure, "splits": splits, "alpha": alpha, "pairs": pairs}
    | {"share": pairs / _PAIRS[collection]}
    for (collection, measure), rows in _TABLE_5.items()
    for splits, counts in zip(("1:10", "2:9", "3:8", "4:7", "5:6", "divided"), rows, strict=True)
    for alpha, pairs in zip(ALPHAS, counts, strict=True)
)

TABLE_6: Rows = tuple(
    {"collection": collection, "condition": condition, "MD2": without, "MD3": with_}
    for collection, condition, without, with_ in (
        ("TREC-3", "across", 0.064, 0.032),
        ("TREC-3", "within", 0.039, 0.030),
        ("TREC-8", "across", 0.078, 0.044),
        ("TREC-8", "within", 0.052, 0.040),
    )
)


def of(rows: Rows, collection: str) -> list[dict[str, Any]]:
    """The rows of one collection, without its name."""
    return [
        {name: value for name, value in row.items() if name != "collection"}
        for row in rows
        if row["collection"] == collection
    ]
