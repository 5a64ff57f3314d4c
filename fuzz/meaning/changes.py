"""Changes of an input or a command line that must not change a result: what remains is compared to 1e-9."""

from __future__ import annotations

import io
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from fuzz.cases import Wrong
from fuzz.meaning.commands import read_json
from fuzz.meaning.inputs import SYSTEMS, draw_scores
from fuzz.meaning.terminal import Done, run_line, write_inputs

TOLERANCE = 1e-9
WORDS = (
    "title",
    "notes",
    "answer",
    "scope",
    "explained",
    "claim",
    "command",
    "scores",
    "text",
    "where",
    "read_as",
)
"""Fields of JSON that are sentences, which name files and systems."""
COMMANDS = {
    "compare": ("compare", "T"),
    "compare pairs": ("compare", "T", "--method", "t holm", "--table", "pairs"),
    "compare baseline": ("compare", "T", "--baseline", "dense"),
    "compare margin": ("compare", "T", "--method", "t none", "--margin", "0.1"),
    "leaderboard": ("leaderboard", "T"),
    "leaderboard baseline": ("leaderboard", "T", "--baseline", "bm25", "--method", "wilcoxon bh"),
    "gate": ("gate", "T", "--baseline", "bm25", "--new", "dense"),
    "design power": ("design", "power", "T", "--min-diff", "0.1"),
    "design interval": ("design", "interval", "T", "--width", "0.2"),
    "design table": ("design", "table", "T", "--systems", "4", "--min-diff", "0.1"),
    "calibrate": ("calibrate", "T", "--method", "t holm", "--scenario", "normal", "--repetitions", "25"),
}
"""Commands with JSON, T for the table."""
FOLDERS = {"paper": ("paper", "T", "--out", "o"), "replicate": ("replicate", "s14", "T", "--out", "o")}
"""Commands that write a folder, of which the files with numbers are compared."""
RUNS = {
    "stability": ("stability", "qrels.txt", "runs", "--shards", "2", "--splits", "3", "--measure", "P@10")
}
"""Commands that take runs only."""


@dataclass(frozen=True)
class Table:
    """Scores (item, system, repeat) with names."""

    scores: Any
    items: tuple[str, ...]
    systems: tuple[str, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """The scores as a long table."""
        rows = [
            (item, system, r + 1, self.scores[k, j, r])
            for k, item in enumerate(self.items)
            for j, system in enumerate(self.systems)
            for r in range(self.scores.shape[2])
        ]
        return pd.DataFrame(rows, columns=["topic", "system", "seed", "score"])

    def write(self, layout: str = "long", ending: str = "csv") -> dict[str, bytes]:
        """Return the file of a layout and format."""
        frame = self.frame.drop(columns=["seed"] if self.scores.shape[2] == 1 else [])
        if layout != "long":
            frame = frame.pivot(index="topic", columns="system", values="score")
            frame = (frame if layout == "wide" else frame.T).reset_index()
            frame.columns.name = None
        stream = io.BytesIO()
        if ending == "parquet":
            frame.to_parquet(stream, index=False)
        elif ending == "xlsx":
            frame.to_excel(stream, index=False)
        elif ending == "jsonl":
            stream.write(frame.to_json(orient="records", lines=True, double_precision=15).encode())
        else:
            stream.write(frame.to_csv(index=False, sep="\t" if ending == "tsv" else ",").encode())
        return {f"t.{ending}": stream.getvalue()}


@dataclass(frozen=True)
class Pair:
    """A command on two inputs that mean the same."""

    name: str
    words: tuple[str, ...]
    other_words: tuple[str, ...]
    files: Mapping[str, bytes]
    other_files: Mapping[str, bytes]
    rename: Mapping[str, str]
    check: Callable[[Any, Any, Pair], str]
    folder: bool = False

    def call(self, text: str) -> str:
        """Return a text with the new names."""
        return " ".join(self.rename.get(word, word) for word in text.split(" "))


# what must be the same ------------------------------------------------------------------------------------------------


def compare_values(a: Any, b: Any, pair: Pair, where: str = "") -> str:
    """Return the first difference of two results, names as they were renamed, sentences left out."""
    if isinstance(a, dict) and isinstance(b, dict):
        names = {pair.call(key) for key in a}
        if names != set(b):
            return f"{where}: fields {sorted(names ^ set(b))}"
        return next(
            filter(None, (
                compare_values(value, b[pair.call(key)], pair, f"{where}.{key}")
                for key, value in a.items() if key not in WORDS)), "",
        )  # fmt: skip
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{where}: {len(a)} and {len(b)} entries"
        first, second = _order(a, pair), _order(b, replace(pair, rename={}))
        found = (
            compare_values(x, y, pair, f"{where}[{k}]")
            for k, (x, y) in enumerate(zip(first, second, strict=True))
        )
        return next(filter(None, found), "")
    if isinstance(a, str) and isinstance(b, str):
        return "" if pair.call(a) == b else f"{where}: {a!r} and {b!r}"
    if isinstance(a, bool) or a is None or b is None or not isinstance(a, int | float):
        return "" if a == b else f"{where}: {a!r} and {b!r}"
    return "" if math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) else f"{where}: {a!r} and {b!r}"


def _order(rows: list[Any], pair: Pair) -> list[Any]:
    """Rows by the names in them, so that ties in another order are no difference."""
    if not all(isinstance(row, dict) for row in rows):
        return rows
    keys = ("system", "a", "b", "base", "new")
    return sorted(
        rows, key=lambda row: [pair.rename.get(str(row.get(key)), str(row.get(key))) for key in keys]
    )


def compare_claims(a: Any, b: Any, pair: Pair) -> str:
    """Return the first difference in ranks, groups, p-values and statistics, which do not depend on the scale."""
    kept = (
        "system",
        "a",
        "b",
        "rank",
        "rank_best",
        "rank_worst",
        "group",
        "top",
        "statistic",
        "df",
        "p",
        "p_adjusted",
    )
    both = [[{key: row[key] for key in kept if key in row} for row in value["rows"]] for value in (a, b)]
    return compare_values(*both, pair, "rows")


def compare_estimates(a: Any, b: Any, pair: Pair) -> str:
    """Return the first difference in means, differences, intervals, p-values and ranks."""
    kept = ("difference", "lower", "upper", "se", "mean", "to_best")
    both = [[{key: row[key] for key in kept if key in row} for row in value["rows"]] for value in (a, b)]
    return compare_claims(a, b, pair) or compare_values(*both, pair, "rows")


def compare_mirror(a: Any, b: Any, pair: Pair) -> str:
    """Return what is not mirrored where base and new are exchanged."""
    (one,), (other,) = a["rows"], b["rows"]
    numbers = [(one["difference"], -other["difference"]), (one["mean_base"], other["mean_new"])]
    numbers += [(one["lower"], -other["upper"]), (one["upper"], -other["lower"])]
    for x, y in numbers:
        if not math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            return f"{x!r} and {y!r}"
    mirrored = {
        "better": ("worse", "no worse"),
        "worse": ("better",),
        "no worse": ("no worse", "inconclusive", "worse"),
    }
    allowed = (
        *mirrored.get(one["verdict"], ()),
        *(("inconclusive", "no worse") if one["verdict"] == "inconclusive" else ()),
    )
    return "" if other["verdict"] in allowed else f"{one['verdict']} and {other['verdict']}"


# changes --------------------------------------------------------------------------------------------------------------


def _draw_table(g: random.Random) -> Table:
    repeats = g.choice((1, 1, 1, 3))
    scores = draw_scores(g, g.randint(8, 20), 4, repeats, g.choice(("share", "share", "binary")))
    return Table(scores, tuple(f"q{k + 1}" for k in range(len(scores))), tuple(SYSTEMS))


def _pick(g: random.Random, words: Sequence[str], path: str) -> tuple[str, ...]:
    return tuple(path if word == "T" else word for word in words)


def _make(
    g: random.Random, change: str, table: Table, words: Sequence[str], other: Mapping[str, bytes], path: str = "t.csv",
    *, rename: Mapping[str, str] | None = None, more: Sequence[str] = (), check: Any = None, files: Any = None,
) -> Pair:  # fmt: skip
    renamed = {**(rename or {})}
    changed = tuple(renamed.get(word, word) for word in _pick(g, words, path))
    folder = words[0] in ("paper", "replicate")
    check = check or (lambda a, b, pair: compare_values(a, b, pair))
    return Pair(
        change,
        _pick(g, words, "t.csv"),
        (*changed, *more),
        files or table.write(),
        other,
        renamed,
        check,
        folder,
    )


def _choose(g: random.Random, table: Table, *, plain: bool = False) -> tuple[str, ...]:
    """A command that takes the table."""
    names = [name for name in COMMANDS if table.scores.shape[2] == 1 or name not in NO_REPEATS]
    if not plain:
        names += list(FOLDERS) if table.scores.shape[2] == 1 else []
    name = g.choice(names)
    return COMMANDS.get(name) or FOLDERS[name]


NO_REPEATS = ("design interval", "design table", "calibrate", "leaderboard baseline")


def rename_systems(g: random.Random) -> Pair:
    """Give the systems other names, in the same order of the alphabet or another."""
    table = _draw_table(g)
    names = dict(zip(table.systems, g.sample(["Anton", "Berta", "Cäsar", "Dora"], 4), strict=True))
    other = replace(table, systems=tuple(names.values()))
    return _make(g, "rename systems", table, _choose(g, table, plain=True), other.write(), rename=names)


def rename_items(g: random.Random) -> Pair:
    """Give the items other names in the same order."""
    table = _draw_table(g)
    other = replace(table, items=tuple(f"item-{k:04}" for k in range(len(table.items))))
    return _make(g, "rename items", table, _choose(g, table), other.write())


def shuffle_rows(g: random.Random) -> Pair:
    """Put the systems in another order in the file, and where nothing is drawn the items, too."""
    table = _draw_table(g)
    order = g.sample(range(4), 4)
    other = Table(table.scores[:, order], table.items, tuple(table.systems[j] for j in order))
    return _make(g, "shuffle systems", table, _choose(g, table, plain=True), other.write())


def change_layout(g: random.Random) -> Pair:
    """Write the same scores wide, long or turned, in another format."""
    table = _draw_table(g)
    layout = "long" if table.scores.shape[2] > 1 else g.choice(("long", "wide", "turned"))
    ending = g.choice(("csv", "tsv", "xlsx", "parquet", "jsonl"))
    return _make(
        g, f"{layout} {ending}", table, _choose(g, table), table.write(layout, ending), f"t.{ending}"
    )


def scale_scores(g: random.Random) -> Pair:
    """Shift and scale the scores: claims, statistics and p-values stay."""
    table = replace(drawn := _draw_table(g), scores=drawn.scores[:, :, :1])
    factor, shift = g.choice((2.0, 10.0, 0.5)), g.choice((0.0, 3.0, -7.0))
    other = replace(table, scores=table.scores * factor + shift)
    method = g.choice(("t holm", "t none", "max-t", "wilcoxon none", "sign holm", "MD1 hsd"))
    words = ("compare", "T", "--method", method, "--table", g.choice(("pairs", "systems")))
    if method.startswith("MD1"):
        words = (*words, "--generalize", "these")
    return _make(g, f"scale by {factor}, shift by {shift}", table, words, other.write(), check=compare_claims)


def copy_file(g: random.Random) -> Pair:
    """Read the same file by another path."""
    table = _draw_table(g)
    (content,) = table.write().values()
    path = g.choice(("sub/t.csv", "./t.csv", "sub/../t.csv", "a b (1).csv"))
    return _make(
        g,
        f"read {path}",
        table,
        _choose(g, table),
        {path.replace("sub/../", ""): content, "sub/x": b""},
        path,
    )


def mirror_gate(g: random.Random) -> Pair:
    """Exchange base and new."""
    table = _draw_table(g)
    more = g.choice(((), ("--margin", "0.1"), ("--alpha", "0.1")))
    words = ("gate", "T", "--baseline", "bm25", "--new", "dense", *more)
    pair = _make(g, "mirror", table, words, table.write(), check=compare_mirror)
    return replace(pair, other_words=("gate", "t.csv", "--baseline", "dense", "--new", "bm25", *more))


def restrict(g: random.Random) -> Pair:
    """Name two systems, or give a file that holds only these."""
    table = _draw_table(g)
    kept = sorted(g.sample(range(4), g.choice((2, 3))))
    other = Table(table.scores[:, kept], table.items, tuple(table.systems[j] for j in kept))
    only = [word for j in kept for word in ("--only", table.systems[j])]
    method = g.choice(("", "t holm", "t none"))
    words = (g.choice(("compare", "leaderboard")), "T", *(("--method", method) if method else ()))
    # an ANOVA and effect sizes take their variance from all systems of the file
    pair = _make(g, f"only {len(kept)}", table, words, other.write(), check=compare_estimates)
    return replace(pair, words=(*pair.words, *only))


def shuffle_options(g: random.Random) -> Pair:
    """Give the options in another order, and before the input."""
    table = _draw_table(g)
    words = _choose(g, table)
    start = 2 if words[0] in ("design", "replicate") else 1
    rest = [words[k : k + 2] for k in range(words.index("T") + 1, len(words), 2)] + [("--seed", "3")] * (
        "--seed" in words
    )
    g.shuffle(rest)
    pair = _make(g, "shuffle options", table, words, table.write())
    return replace(pair, other_words=(*words[:start], *(word for part in rest for word in part), "t.csv"))


def use_config(g: random.Random) -> Pair:
    """Take the options from a file."""
    table = _draw_table(g)
    words = _choose(g, table, plain=True)
    start = 2 if words[0] in ("design", "replicate") else 1
    options = dict(zip(words[words.index("T") + 1 :: 2], words[words.index("T") + 2 :: 2], strict=True))
    several = ("--baseline", "--new", "--min-diff", "--width", "--systems", "--scenario")
    lines = [f"[{'.'.join(words[:start])}]"]
    for key, value in options.items():
        numeric = key in ("--min-diff", "--width", "--systems", "--repetitions", "--margin", "--alpha")
        text = value if numeric else json.dumps(value)
        listed = key in several or (key == "--method" and words[0] == "calibrate")
        lines.append(f"{key[2:]} = {f'[{text}]' if listed else text}")
    files = {**table.write(), "c.toml": "\n".join(lines).encode()}
    pair = _make(g, "config", table, words, files)
    return replace(pair, other_words=(*words[:start], "t.csv", "--config", "c.toml"))


def use_jobs(g: random.Random) -> Pair:
    """Work in one thread, or in two."""
    table = _draw_table(g)
    words = (*_choose(g, table), "--jobs", "1")
    pair = _make(g, "jobs", table, words, table.write())
    return replace(pair, other_words=(*pair.other_words[:-1], "2"))


def rename_runs(g: random.Random) -> Pair:
    """Exchange the names of topics and run files of a study of splits; the order of runs is another."""
    from fuzz.meaning.inputs import INPUTS

    given = INPUTS["runs"].make(g)
    names = {name: f"x{name}" for name in given.systems}
    other = {
        path.replace("runs/", "runs/x"): b"\n".join(
            line.replace(line.split()[-1], b"x" + line.split()[-1]) if path.startswith("runs/") and line else line
            for line in text.split(b"\n")
        )
        for path, text in given.files.items()
    }  # fmt: skip
    words = RUNS["stability"]
    table = g.choice(("agreement", "summary", "found"))
    check = lambda a, b, pair: compare_values(a, b, pair)  # noqa: E731
    return Pair(
        "rename runs",
        (*words, "--table", table),
        (*words, "--table", table),
        given.files,
        other,
        names,
        check,
    )


CHANGES = (
    rename_systems, rename_items, shuffle_rows, change_layout, scale_scores, copy_file, mirror_gate, restrict,
    shuffle_options, use_config, use_jobs, rename_runs,
)  # fmt: skip


def make_change(g: random.Random) -> Pair | tuple[str, Table]:
    """Return a command on two inputs that mean the same, or a report to be repeated."""
    if g.random() < 0.05:
        return "repeat", _draw_table(g)
    return g.choice(CHANGES)(g)


def try_change(case: Pair | tuple[str, Table]) -> str:
    """Run both commands and compare what they tell."""
    if not isinstance(case, Pair):
        return _try_repeat(case[1])
    both = []
    for words, files in ((case.words, case.files), (case.other_words, case.other_files)):
        form = () if case.folder else ("--format", "json")
        both.append(run_line(write_inputs(dict(files)), *words, *form))
    first, second = both
    if first.code == second.code == 2:
        return "refused"
    if first.code != second.code and case.name != "mirror":
        raise Wrong(f"{case.name}: {first.explain()} | {second.explain()}")
    problem = (
        _compare_folders(first, second)
        if case.folder
        else case.check(read_json(first), read_json(second), case)
    )
    if problem:
        raise Wrong(f"{case.name}: {problem}: {first.explain()} | {second.explain()}")
    return "right"


def _compare_folders(first: Done, second: Done) -> str:
    """Files of tables and numbers are the same, byte for byte."""
    both = [
        {
            name: text
            for name, text in done.files.items()
            if name.endswith((".tex", ".csv")) and "steps" not in name
        }
        for done in (first, second)
    ]
    if both[0].keys() != both[1].keys():
        return f"files {sorted(both[0].keys() ^ both[1].keys())}"
    return next((name for name in both[0] if both[0][name] != both[1][name]), "")


def _try_repeat(table: Table) -> str:
    folder = write_inputs(table.write())
    done = run_line(folder, "compare", "t.csv", "--quiet", "--report", "r.html", "--calibration", "0")
    if done.code:
        return "refused"
    again = run_line(folder, "repeat", "r.html")
    if again.code:
        raise Wrong(f"a report is not repeated: {again.explain()}")
    return "right"
