"""Whether the statements about one table agree, and how often they are false where systems are equal.

python -m bench.consistency [part …] [--data folder]

Parts: agreement (headline, letters, rank ranges, best set, pairs and leaderboard of 300 random tables of TREC-8 and
TREC-3, by every method that ranks), ranks (all rank ranges at once, all systems equal), clusters (few or unequal
clusters, all systems equal). Each writes docs/bench/consistency_<part>.csv; docs/bench/consistency.md sums them up.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from bench.statements import error, tables
from shardwise.analysis.analysis import PairResult
from shardwise.analysis.leaderboard import rank_pairs
from shardwise.comparing.compare import run_procedure
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.scores import as_scores
from shardwise.methods.names import Procedure, list_procedures, parse_procedure
from shardwise.methods.tables import TABLE, Tables
from shardwise.stats.groups import count_wins
from shardwise.stats.units import unit_df, unit_scores

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "bench"
ALPHA = 0.05
# resamples of methods that draw, in tables whose statements are only held against each other
DRAWS = 199
# of methods whose error is counted
COUNTED_DRAWS = 499
CHUNK = 50
TABLES = 150
MOST_SYSTEMS = 15

# "s1 is significantly better than s2", and "Best: s1 (.3). It is significantly better than the runner-up, s2"
BETTER = r"(s\d+)(?: is| \([^()]*\)\. It is) significantly better than (?:the runner-up, )?(s\d+)"

Draw = Callable[[np.random.Generator, int], Floats]


def ranking_procedures() -> list[Procedure]:
    """All procedures of topics by systems that rank; Dunnett's has one baseline, others need people or votes."""
    return [
        found
        for name, found in list_procedures(TABLE).items()
        if "dunnett" not in name and not (found.method.uses_people or found.method.uses_votes)
    ]


# on all tables; the others on every tenth, as they differ from these in the correction alone
ALWAYS = (
    *("moderated", "moderated none", "moderated holm", "moderated bh", "MD1 hsd topic", "MD1 scheffe topic"),
    *("t holm", "t bh", "max-t", "tukey", "wilcoxon holm", "mcnemar holm", "bootstrap holm"),
    *("banova MD1 difference holm", "unpaired-t bonferroni"),
)


def random_tables(folder: Path, count: int) -> Iterator[tuple[str, xr.DataArray]]:
    """Some topics and systems of TREC-8 and of TREC-3, another number of each in every table."""
    for number, (name, y) in enumerate(list(tables(folder).items())[:2]):
        rng = np.random.default_rng([61, number])
        for _ in range(count):
            topics = int(rng.integers(10, len(y) + 1))
            systems = int(np.exp(rng.uniform(np.log(3), np.log(MOST_SYSTEMS))))
            rows = rng.choice(len(y), topics, replace=False)
            columns = rng.choice(y.shape[1], systems, replace=False)
            coords = {"topic": np.arange(topics), "system": [f"s{k:03d}" for k in columns]}
            yield name, xr.DataArray(y[np.ix_(rows, columns)], dims=TABLE, coords=coords, name="AP")


def contradictions(pairs: Comparisons) -> set[str]:
    """Kinds of statements of one comparison that do not agree with its significant pairs."""
    names, alpha = pairs.names, ALPHA
    position = {name: k for k, name in enumerate(names)}
    above = np.zeros((len(names), len(names)), dtype=bool)
    frame = pairs.to_frame(1.0 - alpha)
    columns = (frame["a"], frame["b"], frame["difference"], pairs.reject(alpha))
    for a, b, difference, significant in zip(*columns, strict=True):
        if significant and difference != 0.0:
            first, second = (a, b) if difference > 0.0 else (b, a)
            above[position[str(first)], position[str(second)]] = True
    kinds = set()
    # ranks and best set, by the definition
    ranks, best = pairs.ranks(1.0 - alpha).loc[list(names)], pairs.best(alpha)
    if (ranks["rank_best"].to_numpy() != 1 + above.sum(axis=0)).any():
        kinds.add("ranks")
    if (ranks["rank_worst"].to_numpy() != len(names) - above.sum(axis=1)).any():
        kinds.add("ranks")
    if ((ranks["rank"] < ranks["rank_best"]) | (ranks["rank"] > ranks["rank_worst"])).any():
        kinds.add("ranks")
    if set(best) != {name for name in names if ranks.loc[name, "rank_best"] == 1}:
        kinds.add("best set")
    # letters: shared exactly by tied systems
    try:
        letters = pairs.letters(alpha)["letters"]
    except InputError:
        letters = None
    if letters is not None:
        # beyond 26 groups their names are set apart by spaces
        spaced = len(pairs.groups(alpha)) > 26
        names_of = {name: set(text.split() if spaced else text) for name, text in letters.items()}
        for a, b in combinations(names, 2):
            shares = bool(names_of[a] & names_of[b])
            if shares == bool(above[position[a], position[b]] or above[position[b], position[a]]):
                kinds.add("letters")
    # the leaderboard's columns
    board = rank_pairs(PairResult(pairs=pairs, alpha=alpha), "AP").to_frame().set_index("system")
    if not board[["rank_best", "rank_worst"]].equals(ranks.loc[board.index, ["rank_best", "rank_worst"]]):
        kinds.add("leaderboard")
    if set(board.index[board["top"]]) != set(best):
        kinds.add("leaderboard")
    if contradicts_headline(pairs.summary(alpha).splitlines()[0], names, above, best):
        kinds.add("headline")
    # an interval leaves out 0 exactly where its pair is significant, a limit of 0 being open there, and has a width;
    # p is at most the corrected p
    apart = (frame["lower"] > 0.0) | (frame["upper"] < 0.0)
    holds = (frame["lower"] < 0.0) & (frame["upper"] > 0.0)
    significant = pairs.reject(alpha)
    if (apart & ~significant).any() or (holds & significant).any():
        kinds.add("intervals")
    if (frame["upper"] <= frame["lower"]).any():
        kinds.add("intervals")
    if (frame["p"] > frame["p_adjusted"] * (1.0 + 1e-9)).any():
        kinds.add("p-values")
    return kinds


def contradicts_headline(text: str, names: tuple[str, ...], above: Bools, best: tuple[str, ...]) -> bool:
    """Whether the first line names another best set, another number of ties, or a pair that is not significant."""
    position = {name: k for k, name in enumerate(names)}
    for winner, loser in re.findall(BETTER, text):
        if not above[position[winner], position[loser]]:
            return True
    if len(names) == 2:
        return ("tied" in text) == bool(above.any())
    if text.startswith("No winner"):
        return len(best) != len(names)
    head = text.split(". ")[0] if "tied" in text else text.split(". It is")[0]
    named = re.findall(r"s\d{3}", head)
    tied_with = re.search(r"tied with (\d+) others?", text)
    expected = int(tied_with[1]) + 1 if tied_with else len(named)
    return expected != len(best) or not set(named) <= set(best)


def run_agreement(folder: Path) -> pd.DataFrame:
    """Tables in which two statements contradict each other, by method."""
    rows: dict[str, dict[str, int]] = {}
    for number, (_, scores) in enumerate(random_tables(folder, TABLES)):
        for procedure in ranking_procedures():
            if number % 10 and procedure.name not in ALWAYS:
                continue
            # McNemar's test is of right and wrong answers
            shown = (scores > 0.3).astype(float) if procedure.name.startswith("mcnemar") else scores
            pairs = run_procedure(procedure, as_scores(shown), n_resamples=DRAWS if procedure.draws else None)
            kinds = contradictions(pairs)
            row = rows.setdefault(procedure.name, dict.fromkeys(("tables", "contradictory", *KINDS), 0))
            row["tables"] += 1
            row["contradictory"] += bool(kinds)
            for kind in kinds:
                row[kind] += 1
        if number % 10 == 9:
            bad = {name: row for name, row in rows.items() if row["contradictory"]}
            print(f"{number + 1} tables; contradictory: {bad or 'none'}", flush=True)
    return pd.DataFrame([{"method": name, **row} for name, row in rows.items()])


KINDS = ("ranks", "best set", "letters", "leaderboard", "headline", "intervals", "p-values")


def run_ranks(folder: Path) -> pd.DataFrame:
    """Tables of equal systems in which all rank ranges hold every rank, by the default method.

    Systems are moved to one mean and topics drawn with replacement; a range that does not hold all ranks of equal
    systems excludes a rank that the system may have.
    """
    rows = []
    procedure = parse_procedure("moderated")
    for number, (name, whole) in enumerate(tables(folder).items()):
        for systems in (5, 22, 40):
            for topics in (25, 50):
                rng = np.random.default_rng([67, number, systems, topics])
                y = whole - whole.mean(axis=0)
                covered = contained = 0
                for first in range(0, EQUAL, CHUNK):
                    drawn = np.stack(
                        [
                            y[:, rng.choice(y.shape[1], systems, replace=False)][
                                rng.integers(len(y), size=topics)
                            ]
                            for _ in range(CHUNK)
                        ]
                    )
                    made = Tables(drawn, TABLE, seed=number, first=first, n_resamples=COUNTED_DRAWS)
                    decided = procedure.decide(made)
                    pairs = np.triu_indices(systems, 1)
                    below, above = count_wins(
                        decided.p_adjusted <= ALPHA, decided.difference, *pairs, systems
                    )
                    covered += int(((above == 0) & (below == 0)).all(axis=1).sum())
                    contained += int((above == 0).all(axis=1).sum())
                share = covered / EQUAL
                rows.append(
                    {
                        "data": name,
                        "topics": topics,
                        "systems": systems,
                        "all_ranges_cover": share,
                        "error": error(share, EQUAL),
                        "best_set_holds_all": contained / EQUAL,
                        "tables": EQUAL,
                    }
                )
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


EQUAL = 2000


def cluster_layouts() -> Iterator[tuple[str, Ints]]:
    """Numbers of items by cluster: equal, unequal, and one that holds a third of all items."""
    for count in (6, 10, 20, 40):
        yield f"{count} equal clusters", np.repeat(np.arange(count), 5)
        sizes = np.maximum(1, np.round(5 * np.geomspace(0.2, 4.0, count)).astype(int))
        yield f"{count} unequal clusters", np.repeat(np.arange(count), sizes)
        sizes = np.r_[np.full(count - 1, 4), 2 * (count - 1)]
        yield f"{count} clusters, one with a third of the items", np.repeat(np.arange(count), sizes)


def clustered_scores(cluster: Ints, systems: int, kind: str) -> Draw:
    """Tables of equal systems whose items go together in clusters."""
    count = int(cluster.max()) + 1

    def draw(rng: np.random.Generator, number: int) -> Floats:
        size = (number, len(cluster), systems)
        own, common = rng.normal(size=size), rng.normal(size=(number, count, systems))
        hard = rng.normal(size=(number, count, 1))[:, cluster]
        together = np.sqrt(0.5) * common[:, cluster] + np.sqrt(0.5) * own
        if kind == "graded":
            return np.asarray(0.5 * hard + together)
        if kind == "right/wrong":
            return np.asarray((0.7 * hard + together < 0.8).astype(float))
        # whole clusters fail
        failed = common[:, cluster] < -0.8
        return np.where(failed, 0.0, (own < 1.3).astype(float))

    return draw


def run_clusters(folder: Path) -> pd.DataFrame:
    """Tables of equal systems in which some pair is significant, by the default method on clusters."""
    del folder
    rows = []
    procedure = parse_procedure("moderated")
    for number, (layout, cluster) in enumerate(cluster_layouts()):
        task = np.zeros(len(cluster), dtype=np.int64)
        for systems in (2, 5):
            for kind in ("graded", "right/wrong", "right/wrong, whole clusters fail"):
                rng = np.random.default_rng([71, number, systems, len(kind)])
                draw = clustered_scores(cluster, systems, kind)
                false = 0
                for first in range(0, CLUSTERED, CHUNK):
                    y = np.stack([unit_scores(one, cluster, task) for one in draw(rng, CHUNK)])
                    made = Tables(
                        y,
                        TABLE,
                        seed=1,
                        first=first,
                        n_resamples=COUNTED_DRAWS,
                        unit_df=unit_df(cluster, task),
                    )
                    false += int((procedure.decide(made).p_adjusted <= ALPHA).any(axis=1).sum())
                share = false / CLUSTERED
                rows.append(
                    {
                        "layout": layout,
                        "kind": kind,
                        "systems": systems,
                        "false_alarms": share,
                        "error": error(share, CLUSTERED),
                        "tables": CLUSTERED,
                    }
                )
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


CLUSTERED = 2000


PARTS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "agreement": run_agreement,
    "ranks": run_ranks,
    "clusters": run_clusters,
}


def percent(values: pd.Series) -> str:
    """Lowest to highest of shares and their mean, in per cent."""
    return f"{100 * values.min():.1f}–{100 * values.max():.1f}, mean {100 * values.mean():.1f}"


def write_page() -> None:
    """Write docs/bench/consistency.md: nominal and measured figures of the parts that were run."""
    files = {part: OUT / f"consistency_{part}.csv" for part in PARTS}
    frames = {part: pd.read_csv(file) for part, file in files.items() if file.exists()}
    rows = []
    if "agreement" in frames:
        agreement = frames["agreement"]
        for count, part in agreement.groupby("tables"):
            rows.append(
                (
                    "headline, letters, rank ranges, best set, leaderboard, pairs, intervals or p-values contradict"
                    " each other",
                    "0",
                    f"{int(part['contradictory'].max())} tables by any method",
                    f"{count} tables, {len(part)} methods",
                    "",
                )
            )
    if "ranks" in frames:
        ranks = frames["ranks"]
        rows.append(
            (
                "all rank ranges hold all ranks of equal systems",
                "at least 95",
                percent(ranks["all_ranges_cover"]),
                f"{len(ranks)} settings",
                f"{100 * ranks['error'].max():.1f}",
            )
        )
    if "clusters" in frames:
        whole = frames["clusters"]
        for name, part in (
            ("clusters of one size", whole[whole["layout"].str.contains(" equal")]),
            ("clusters of unequal size", whole[~whole["layout"].str.contains(" equal")]),
        ):
            rows.append(
                (
                    f"some equal pair is significant: {name}",
                    "at most 5",
                    percent(part["false_alarms"]),
                    f"{len(part)} settings",
                    f"{100 * part['error'].max():.1f}",
                )
            )
    lines = [
        "| statement | nominal, % | measured, % (lowest–highest) | over | Monte-Carlo error, at most |",
        "|---|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    (OUT / "consistency.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Run the parts asked for, each into its file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SHARDWISE_DATA", "/data")))
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        begun = time.perf_counter()
        frame = PARTS[part](arguments.data)
        frame.round(5).to_csv(OUT / f"consistency_{part}.csv", index=False)
        print(f"{part}: {time.perf_counter() - begun:.0f} s", flush=True)
    write_page()


if __name__ == "__main__":
    main()
