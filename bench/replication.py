"""Re-run the experiments of V17, FF21 and F19 on TREC-COVID round 1 and put the tables into docs/replication.md.

python -m bench.replication [folder of round1_runs.tar.xz, qrels.covid-round1.txt, docids.covid.round1.txt.gz]
"""

from __future__ import annotations

import gzip
import re
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.over_splits import combined_p, over_splits
from shardwise.comparing.split_tables import agreement_over_splits, found_over_splits, summary_over_splits
from shardwise.comparing.stability import FF21, stability_of_fills, stability_of_methods
from shardwise.comparing.within_across import within_across
from shardwise.core.model import MD2, MD3, MD6
from shardwise.fits.anova import anova
from shardwise.fits.bootstrap import bootstrap_anova
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.procedures.running import compare, paired_tests
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import split

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "replication.md"
PAPERS: dict[str, Any] = {"null": "marginal", "tails": 1}
NAMES = {"MD2": "MD2 (FF21: MD1)", "MD3": "MD3 (FF21: MD2)", "MD6": "MD6 (FF21: MD3)"}
BRACKET = {  # one split, by FF21's public code
    "MD2": (0.3905, 5878, 8062, 8831, 8633, 0.0462),
    "MD3": (0.5741, 7119, 8678, 9405, 9259, 0.0260),
    "MD6": (0.6548, 7535, 8914, 9534, 9414, 0.0214),
}
FIGURES = (
    "omega² system",
    "tANOVA(HSD)",
    "tANOVA(BH)",
    "bANOVA(BH), one tail",
    "bANOVA(BH), two tails",
    "interval width",
)
# FF21 Table 5 (TREC-8, 8256 pairs) and Table 6
PUBLISHED_FOUND = {
    "MD2": (6866.6, 6537.4, 4590.8),
    "MD3": (7231.8, 6856.6, 5098.4),
    "MD6": (7563.4, 7301.4, 5907.6),
}
PUBLISHED_PPA = {"MD2": (0.903, 0.924, 0.973), "MD3": (0.866, 0.896, 0.963), "MD6": (0.802, 0.850, 0.953)}
PUBLISHED_PAA = {"MD2": (0.979, 0.980, 0.979), "MD3": (0.980, 0.979, 0.977), "MD6": (0.982, 0.980, 0.981)}
# V17 Table 3, TREC-8: interval widths without and with interactions
PUBLISHED_WIDTHS = {("AP", 2): (0.088, 0.039), ("AP", 3): (0.078, 0.044), ("AP", 5): (0.069, 0.049),
                    ("P@10", 2): (0.122, 0.061), ("P@10", 3): (0.098, 0.061), ("P@10", 5): (0.071, 0.048)}  # fmt: skip
# V17 Tables 4 and 5, TREC-8 at .05, in percent of pairs
PUBLISHED_V17 = {
    "AP": {
        "unpaired t": 50.4,
        "randomization": 76.6,
        "one split": 91.0,
        "all 11 splits": 86.6,
        "divided": 7.8,
    },
    "P@10": {
        "unpaired t": 52.3,
        "randomization": 68.6,
        "one split": 87.9,
        "all 11 splits": 80.1,
        "divided": 13.4,
    },
}


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [" | ".join(head), "|".join(["---"] * len(head)), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" if "---" not in line else f"|{line}|" for line in lines)


def load(folder: Path) -> tuple[Collection, list[str]]:
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(folder / "round1_runs.tar.xz") as archive:
            archive.extractall(place, filter="data")
        files = sorted(path for path in Path(place).rglob("*") if path.is_file())
        qrels = folder / "qrels.covid-round1.txt"
        runs = read_collection(files, qrels, missing="zero", topics="judged", names="file")
    with gzip.open(folder / "docids.covid.round1.txt.gz", "rt") as stream:
        return runs, list(dict.fromkeys(stream.read().splitlines()))


def sharded(
    runs: Collection, corpus: list[str], n: int, splits: int, kind: str = "even", seed: int = 0
) -> xr.Dataset:
    made = split(runs, n, kind=kind, n_splits=splits, seed=seed, corpus=corpus, unlisted="add")  # type: ignore[arg-type]
    return score(runs, ["AP", "P@10"], made)


def width(frame: pd.DataFrame) -> float:
    return float((frame["upper"] - frame["lower"]).mean())


def bracket(ap: xr.DataArray) -> str:
    rows = []
    for model in (MD2, MD3, MD6):
        found = []
        for i in range(ap.sizes["split"]):
            fit, boot = anova(ap.isel(split=i), model), bootstrap_anova(ap.isel(split=i), model)
            found.append(
                (
                    float(fit.table["omega_sq"].loc["system"]),
                    *(int(compare(fit, method).reject().sum()) for method in ("hsd", "bh")),
                    *(
                        int(compare(boot, "bh", null="marginal", tails=t, density="kde").reject().sum())
                        for t in (1, 2)
                    ),
                    width(boot.intervals()),
                )
            )
        table = np.array(found, float)
        for k, figure in enumerate(FIGURES):
            form = "{:.4f}" if table[:, k].max() < 1 else "{:.0f}"
            given = BRACKET[model.name][k]
            low, high = table[:, k].min(), table[:, k].max()
            between = f"{form.format(low)} to {form.format(high)}"
            held = "yes" if low <= given <= high else "no"
            mean = form.format(table[:, k].mean())
            rows.append([model.name, figure, form.format(given), mean, between, held])
    return markdown(
        ["model", "figure", "independent run, 1 split", "ours, mean of 40", "ours, range", "bracketed"], rows
    )


def widths(runs: Collection, corpus: list[str]) -> str:
    rows = []
    for n in (2, 3, 5):
        scores = sharded(runs, corpus, n, 5, "covered", seed=4)
        for measure in ("AP", "P@10"):
            cells = []
            for model in (MD2, MD3):
                fits = [bootstrap_anova(scores[measure].isel(split=i), model) for i in range(5)]
                pairs = [int(compare(fit, "bh", **PAPERS).reject().sum()) for fit in fits]
                cells += [
                    f"{np.mean([width(fit.intervals()) for fit in fits]):.3f}",
                    f"{np.mean([width(fit.intervals(trim='count')) for fit in fits]):.3f}",
                    f"{np.mean(pairs):.0f}",
                ]
            published = PUBLISHED_WIDTHS[measure, n]
            rows.append([str(n), measure, *cells, f"{published[0]:.3f} / {published[1]:.3f}"])
    head = ["shards", "measure", "MD2 share", "MD2 count", "MD2 pairs", "MD3 share", "MD3 count", "MD3 pairs",
            "V17 on TREC-8, without / with"]  # fmt: skip
    return markdown(head, rows)


def eleven(runs: Collection, corpus: list[str]) -> tuple[str, str]:
    scores = sharded(runs, corpus, 2, 11, "covered", seed=5)
    whole = score(runs, ["AP", "P@10"])
    rows, divided = [], []
    for measure in ("AP", "P@10"):
        found = over_splits(scores[measure], MD3, "bh", fit="bootstrap", **PAPERS)
        calibrated = over_splits(scores[measure], MD3, "bh", fit="bootstrap")
        table, ours = found_over_splits(found), found_over_splits(calibrated)
        n = int(table["pairs"].iloc[0])
        tests = {
            "unpaired t": paired_tests(whole[measure], "unpaired-t"),
            "paired t": paired_tests(whole[measure], "t"),
            "randomization": paired_tests(whole[measure], "randomization"),
        }
        counts = {
            name: [int(test.reject(alpha).sum()) for alpha in (0.05, 0.01)] for name, test in tests.items()
        }
        counts["one split"] = table["mean"].tolist()
        counts["most of 11 splits"] = table["majority"].tolist()
        counts["all 11 splits"] = table["unanimous"].tolist()
        for how in ("harmonic", "cauchy"):
            together = combined_p(found, how)
            counts[f"{how} p of 11 splits"] = [int(together.reject(alpha).sum()) for alpha in (0.05, 0.01)]
        counts["one split, calibrated"] = ours["mean"].tolist()
        counts["all 11 splits, calibrated"] = ours["unanimous"].tolist()
        for name, (five, one) in counts.items():
            published = PUBLISHED_V17[measure].get(name)
            rows.append([measure, name, f"{five:.0f} ({five / n:.1%})", f"{one:.0f} ({one / n:.1%})",
                         "" if published is None else f"{published:.1f}%"])  # fmt: skip
        agreement = agreement_over_splits(found)
        for label, row in agreement.iterrows():
            published = PUBLISHED_V17[measure]["divided"] if label == "divided" else None
            cells = [f"{row[a, 'pairs']:.0f} ({row[a, 'share']:.1%})" for a in (0.05, 0.01)]
            divided.append([measure, str(label), *cells, "" if published is None else f"{published:.1f}%"])
    head = ["measure", "test", "found at .05", "found at .01", "V17 on TREC-8, .05"]
    return markdown(head, rows), markdown(
        ["measure", "splits", "pairs at .05", "pairs at .01", "V17 on TREC-8, .05"], divided
    )


def methods(ap: xr.DataArray) -> tuple[str, str]:
    rows, steady = [], []
    for model in (MD2, MD3, MD6):
        table = stability_of_methods(ap, model)
        n = table.attrs["pairs"]
        for k, name in enumerate(FF21):
            found = float(table["significant"].sel(approach=name))
            extras = [
                f"{float(table['mean'].sel(approach=name, other=other, figure='extra')):.1f}"
                if other != name
                else "–"
                for other in FF21
            ]
            half = float(table["significant_half_width"].sel(approach=name))
            rows.append([NAMES[model.name], name, f"{found:.1f} ± {half:.1f}", f"{found / n:.1%}", *extras,
                         f"{PUBLISHED_FOUND[model.name][k] / 8256:.1%}"])  # fmt: skip
            own = table.sel(approach=name, other=name)
            cells = [
                f"{float(own['mean'].sel(figure=f)):.3f} ± {float(own['half_width'].sel(figure=f)):.3f}"
                for f in ("PAA", "PPA")
            ]
            opposite = f"{float(own['mean'].sel(figure='AD')):.1f}"
            paa, ppa = f"{PUBLISHED_PAA[model.name][k]:.3f}", f"{PUBLISHED_PPA[model.name][k]:.3f}"
            steady.append([NAMES[model.name], name, cells[0], paa, cells[1], ppa, opposite])
    head = [
        "model",
        "approach",
        "pairs found",
        "share",
        *(f"not by {name}" for name in FF21),
        "FF21 on TREC-8, share",
    ]
    return (
        markdown(head, rows),
        markdown(["model", "approach", "PAA", "FF21", "PPA", "FF21", "AD"], steady),
    )


def fills(ap: xr.DataArray) -> str:
    rows = []
    for model in (MD3, MD6):
        for label, options in {"tANOVA(HSD)": {"method": "hsd"}, "bANOVA(BH)": FF21["bANOVA(BH)"]}.items():
            table = stability_of_fills(ap, model, **options)
            for policy in table["fill"].values:
                cells = [
                    f"{float(table['mean'].sel(fill=policy, other=other, figure='PD')):.1f} ± "
                    f"{float(table['half_width'].sel(fill=policy, other=other, figure='PD')):.1f}"
                    for other in table["other"].values
                ]
                rows.append([NAMES[model.name], label, str(policy), *cells])
    return markdown(["model", "approach", "fill", "zero", "lq", "mean", "one"], rows)


def table_two(runs: Collection, corpus: list[str]) -> str:
    whole = score(runs, "AP")["AP"].mean("topic")
    rows = []
    for n in (2, 3, 5, 10):
        scores = fill_undefined(sharded(runs, corpus, n, 10, seed=6)["AP"], "zero")
        table = summary_over_splits(over_splits(scores, MD6), whole)

        def cell(name: str, form: str, table: pd.DataFrame = table) -> str:
            return f"{table.loc[name, 'mean']:{form}} ± {table.loc[name, 'half_width']:{form}}"

        rows.append(
            [
                str(n),
                cell("tau", ".4f"),
                cell("interval_width", ".4f"),
                cell("significant", ".1f"),
                f"{table.loc['share_significant', 'mean']:.4f}",
                f"{table.loc['common', 'mean']:.0f}",
                f"{table.loc['share_common', 'mean']:.4f}",
            ]
        )
    head = [
        "shards",
        "τ with whole",
        "interval width",
        "significant pairs",
        "of all pairs",
        "in all 10 splits",
        "of significant",
    ]
    return markdown(head, rows)


def related(runs: Collection, corpus: list[str], folder: Path) -> tuple[str, str]:
    teams = pd.read_csv(folder / "round1.csv").groupby("team")["run"].apply(list)
    known = set(runs.systems)
    sets = {str(team): [run for run in members if run in known] for team, members in teams.items()}
    sets = {team: members for team, members in sets.items() if len(members) > 1}
    ap = sharded(runs, corpus, 3, 1, "covered", seed=7)["AP"].isel(split=0)
    result = within_across(ap, sets, **PAPERS)
    published = {"across": ("0.078", "0.044"), "within": ("0.052", "0.040")}
    rows = [
        [str(name), *(f"{value:.4f}" for value in row), *published.get(str(name), ("", ""))]
        for name, row in zip(result.widths.index, result.widths.to_numpy(), strict=True)
    ]
    head = ["condition", "MD2", "MD3", "V17 on TREC-8, without", "with"]
    same = result.agreement()
    agree = [
        [str(name), f"{row['pairs']:.0f}", f"{row['same']:.0f}", f"{row['share']:.1%}"]
        for name, row in same.iterrows()
    ]
    return markdown(head, rows), markdown(["conditions", "related pairs", "same decision", "share"], agree)


def put(text: str, name: str, table: str) -> str:
    """Replace what stands between the marks of a table."""
    found, count = re.subn(
        rf"(<!-- table {name} -->\n).*?(\n<!-- end {name} -->)",
        lambda m: m[1] + table + m[2],
        text,
        flags=re.S,
    )
    assert count == 1, f"{PAGE} has no place for table {name}"
    return found


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data" / "trec-covid-r1"
    runs, corpus = load(folder)
    three = fill_undefined(sharded(runs, corpus, 3, 40)["AP"], "zero")
    five = sharded(runs, corpus, 5, 5, seed=2)["AP"]
    ten = sharded(runs, corpus, 10, 5, seed=3)["AP"]
    tables = {"bracket": bracket(three), "widths": widths(runs, corpus)}
    tables["found"], tables["divided"] = eleven(runs, corpus)
    tables["methods"], tables["steady"] = methods(fill_undefined(five, "zero"))
    tables["fills"] = fills(ten)
    tables["summary"] = table_two(runs, corpus)
    tables["related"], tables["same"] = related(runs, corpus, folder)
    text = PAGE.read_text()
    for name, table in tables.items():
        print(f"\n## {name}\n\n{table}", flush=True)
        text = put(text, name, table)
    undefined = {n: int(np.isnan(s.isel(system=0)).sum()) for n, s in ((5, five), (10, ten))}
    print("undefined topic-shard cells over 5 splits:", undefined)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
