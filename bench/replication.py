"""Put tables of public scores, of a re-implementation and of a study into docs/papers.md.

python -m bench.replication FOLDER [STUDY]: the folder of round1_runs.tar.xz, qrels.covid-round1.txt and
docids.covid.round1.txt.gz, and what `shardwise replicate study collections.toml --out STUDY` wrote. `only STUDY` in
place of both leaves the tables that need the runs as they are.
"""

from __future__ import annotations

import gzip
import re
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from shardwise.comparing.compare import compare
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.method import bootstrap_anova
from shardwise.papers.claims import UNKNOWN
from shardwise.papers.paper_study import SIMULATIONS, count_collections
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import split

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "papers.md"
CLAIMS = ROOT / "docs" / "bench" / "paper-claims.csv"
APPROACHES = ROOT / "docs" / "bench" / "paper-approaches.csv"
BRACKET = {  # one split, by a re-implementation of FF21's recipe
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
    for model in (sw.MD2, sw.MD3, sw.MD6):
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
        ["model", "figure", "re-implementation, 1 split", "ours, mean of 40", "ours, range", "bracketed"],
        rows,
    )


def public(folder: Path) -> str:
    """Rows of the printed tables that public score tables give exactly, or nearly where resamples are drawn."""
    rows = []
    for name, file, measure in (
        ("TREC-3", "trec3/adhoc3_ap.csv", "AP"),
        ("TREC-8", "trec8/adhoc8_ap.csv", "AP"),
        ("TREC-8", "trec8/adhoc8_p10.csv", "P@10"),
    ):
        scores = sw.read_scores(folder / file).rename(measure)
        if (name, measure) == ("TREC-8", "AP"):
            (row,) = sw.papers.f19(scores)["Table 1"].data.to_dict("records")
            for figure in ("omega_sq", "significant", "not_significant", "top_group"):
                form = ".4f" if figure == "omega_sq" else ".0f"
                ours, given = (f"{row[key]:{form}}" for key in (figure, f"{figure}_F19"))
                rows.append([name, measure, "F19 Table 1", f"MD1, {figure.replace('_', ' ')}", given, ours])
        found = sw.papers.v17(scores)["Table 4"].data
        for row in found[found["pairs_V17"].notna()].to_dict("records"):
            what = f"{row['test']}, {row['alpha']:g}"
            rows.append(
                [name, measure, "V17 Table 4", what, f"{row['pairs_V17']:.0f}", f"{row['pairs']:.0f}"]
            )
    return markdown(["data", "measure", "source", "figure", "printed", "ours"], rows)


def related(runs: Collection, folder: Path) -> dict[str, list[str]]:
    """The runs of each team."""
    teams = pd.read_csv(folder / "round1.csv").groupby("team")["run"].apply(list)
    known = set(runs.systems)
    sets = {str(team): [run for run in members if run in known] for team, members in teams.items()}
    return {team: members for team, members in sets.items() if len(members) > 1}


def read_robust(folder: Path) -> Collection:
    """Read the 17 runs of Robust 2003."""
    files = sorted(folder.glob("input.*.gz"))
    return read_collection(files, folder / "robust03_qrels.txt.gz", missing="zero", topics="judged")


def read_study(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the verdicts and the approaches of a study, collections in their order."""
    files = [folder / f"approaches-{aim}.csv" for aim in ("exactly-these-topics", "new-topics")]
    return pd.read_csv(folder / "claims.csv"), pd.concat(map(pd.read_csv, files), ignore_index=True)


def tabulate_verdicts(claims: pd.DataFrame) -> str:
    """Return one row per claim, collections side by side; J15's simulated claims are of all."""
    names = [name for name in dict.fromkeys(claims["collection"]) if name != SIMULATIONS]
    rows = []
    for (paper, statement, section), part in claims.groupby(["paper", "statement", "section"], sort=False):
        by_data = part.set_index("collection")
        simulated = by_data["verdict"].get(SIMULATIONS, UNKNOWN) != UNKNOWN
        sources = [SIMULATIONS if simulated or name not in by_data.index else name for name in names]
        words = [tell_both(*by_data.loc[name, ["verdict", "here"]]) for name in sources]
        over = f"{by_data['verdict'][SIMULATIONS]} (simulated)" if simulated else count_collections(part)
        rows.append([paper, f"{statement} ({section})", by_data["in_print"].iloc[0], *words, over])
    return markdown(["paper", "claim", "in print", *names, "over collections"], rows)


def tell_both(verdict: str, here: str) -> str:
    """Return a verdict, or what every split of a collection says where topics leave it open."""
    if verdict == UNKNOWN:
        return "–"
    return f"{here} here" if verdict == "undecided" and here in ("holds", "fails") else verdict


def tabulate_approaches(approaches: pd.DataFrame, aim: str) -> str:
    """Return false alarms and power of each approach, a row each and the numbers of shards side by side."""
    part = approaches[approaches["aim"] == aim]
    counts = sorted(set(part["shards"]))
    rows = []
    for (name, approach), some in part.groupby(["collection", "approach"], sort=False):
        cells = {row["shards"]: tell_rates(row) for row in some.to_dict("records")}
        rows.append([str(name), str(approach), *(cells.get(count, "") for count in counts)])
    heads = ["whole" if count == 1 else f"{count} shards" for count in counts]
    return markdown(["collection", "approach", *heads], rows)


def tell_rates(row: Mapping[Any, Any]) -> str:
    """Return false alarms and power in percent, marked where the rate is significantly above 5%."""
    mark = "!" if row["rate_low"] > 0.05 else ""
    return f"{100 * row['rate']:.0f}{mark} / {100 * row['power']:.0f}"


def put(text: str, name: str, table: str) -> str:
    """Replace what stands between the marks of a table."""
    found, count = re.subn(
        rf"(<!-- table {name} -->\n).*?(\n?<!-- end {name} -->)",
        lambda m: m[1] + table + m[2],
        text,
        flags=re.S,
    )
    assert count == 1, f"{PAGE} has no place for table {name}"
    return found


def main() -> None:
    where, *study = sys.argv[1:] or [str(ROOT.parent / "shared" / "data" / "trec-covid-r1")]
    tables: dict[str, str] = {}
    if where != "only":
        folder = Path(where)
        runs, corpus = load(folder)
        three = fill_undefined(sharded(runs, corpus, 3, 40)["AP"], "zero")
        tables |= {"public": public(folder.parent), "bracket": bracket(three)}
    if study:
        claims, approaches = read_study(Path(study[0]))
        claims.drop(columns=["statement", "limit", "source", "answer"]).to_csv(CLAIMS, index=False)
        approaches.round(4).to_csv(APPROACHES, index=False)
        tables["verdicts"] = tabulate_verdicts(claims)
        for name, aim in (("these", "exactly these topics"), ("new", "new topics")):
            tables[name] = tabulate_approaches(approaches, aim)
    text = PAGE.read_text()
    for name, made in tables.items():
        print(f"\n## {name}\n\n{made}", flush=True)
        text = put(text, name, made)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
