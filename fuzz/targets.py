"""What is tried: every reader, the measures, the tests and the command line, each beside something independent.

A target makes case number ``i`` of a seed, and tries it: it returns a word for what happened ("right" where an
independent program agrees, "read", "refused"), and raises where something is wrong. Only `InputError` is a refusal.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import itertools
import json
import math
import random
import sys
import zipfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyndeval
import pytrec_eval
import xarray as xr
from scipy import stats

import shardwise as sw
from fuzz.cases import FOLDER, Target, Wrong
from fuzz.guard import guarded
from fuzz.mutate import NASTY, mutated
from shardwise.cli.main import main
from shardwise.cli.options import list_commands
from shardwise.cli.parsing import AnalysisFile
from shardwise.comparing.compare import paired_tests
from shardwise.core.errors import InputError
from shardwise.io.collection import Collection
from shardwise.io.files import PADDING, Padded, compress_text, pad_text
from shardwise.io.netcdf import is_ours
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_scores, write_scores
from shardwise.io.tables import delimited
from shardwise.io.trec.probes import parse_number, parse_plain
from shardwise.scoring.measures.names import parse_measure
from shardwise.scoring.scoring import score
from shardwise.sharding.splits import Splits
from shardwise.writing.embedded import read_report

TABLES = 24  # that are damaged, of each format
TREC = {
    "AP": "map",
    "P@5": "P_5",
    "nDCG@10": "ndcg_cut_10",
    "RR": "recip_rank",
    "Rprec": "Rprec",
    "Bpref": "bpref",
}


def _path(name: str, content: bytes) -> Path:
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / name
    path.write_bytes(content)
    return path


# numbers ------------------------------------------------------------------------------------------------------------


def _make_number(g: random.Random) -> str:
    way = g.randrange(5)
    if way == 0:
        return repr(g.uniform(-1, 1) * 10.0 ** g.choice((0, 0, 1, 2, g.randint(-320, 308))))
    if way == 1:
        return f"{g.choice(('', '-', '+'))}{g.randrange(10 ** g.randint(1, 25))}.{g.randrange(10 ** g.randint(1, 25))}"
    if way == 2:
        return f"{g.randrange(10 ** g.randint(1, 22))}e{g.randint(-400, 400)}"
    if way == 3:
        return str(2**64 * g.randrange(1, 10**6)) + g.choice(("", ".0", "e-19"))
    return mutated(g, repr(g.random()).encode()).decode("latin-1")


def _try_number(text: str) -> str:
    token = text.encode("latin-1")
    if any(byte <= 32 for byte in token) or not token:
        return "refused"
    buffer, size = guarded(np.frombuffer(token + b"\n" * PADDING, dtype=np.uint8), len(token))
    end, number = parse_number(buffer)
    point = token.find(b".")
    plain = parse_plain(buffer, size, point if point >= 0 else size)
    values = [value for value in (number if end == size else None, plain) if value is not None]
    for value in values:
        if value != float(token) or math.copysign(1, value) != math.copysign(1, float(token)):
            raise Wrong(f"{text!r} is {float(token)!r}, not {value!r}")
    return "right" if values else "refused"


# runs and judgments -------------------------------------------------------------------------------------------------


def _run_text(g: random.Random, tag: str) -> bytes:
    lines = []
    for topic in range(1, 4):
        for rank, doc in enumerate(g.sample(range(30), g.randint(1, 12))):
            lines.append(f"{topic} Q0 d{doc} {rank} {round(g.gauss(5, 3), g.randint(0, 4))} {tag}")
    return ("\n".join(lines) + "\n").encode()


def _qrels_text(g: random.Random, columns: int = 4) -> bytes:
    middle = {4: lambda: "0", 5: lambda: "0"}[columns]
    lines = [
        f"{topic} {middle()} d{doc} {'1 ' if columns == 5 else ''}{g.choice((-1, 0, 0, 1, 2, 3))}"
        for topic in range(1, 4)
        for doc in g.sample(range(30), 12)
    ]
    return ("\n".join(lines) + "\n").encode()


def _reference(text: bytes) -> dict[str, dict[bytes, float]]:
    """A run as Python reads it, line by line."""
    found: dict[str, dict[bytes, float]] = {}
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        fields = [field for field in line.replace(b"\t", b" ").replace(b"\r", b" ").split(b" ") if field]
        if fields:
            topic, _, doc, _, value, *_ = fields
            if doc in found.setdefault(topic.decode(), {}):
                raise ValueError("twice")
            found[topic.decode()][doc] = float(value)
    return found


def _make_run(g: random.Random) -> tuple[bytes, bytes]:
    return _qrels_text(g), mutated(g, _run_text(g, "a"))


def _try_run(case: tuple[bytes, bytes]) -> str:
    qrels, run = case
    read = read_collection([_path("x.run", run)], _path("q.txt", qrels), missing="zero", jobs=1)
    known = _reference(run)
    starts = read.name_starts
    names = [read.names[a:b].tobytes() for a, b in pairwise(starts)]
    for t, topic in enumerate(read.topics):
        ranked = known.get(topic, {})
        with np.errstate(over="ignore"):
            single = {doc: np.float32(value) for doc, value in ranked.items()}
        order = sorted(ranked, key=lambda doc: (single[doc], doc), reverse=True)
        ours = [names[d] for d in read.docs[read.starts[t] : read.starts[t + 1]]]
        if ours != order:
            raise Wrong(f"topic {topic}: {ours[:5]} instead of {order[:5]}")
    return "right"


def _make_qrels(g: random.Random) -> tuple[bytes, bytes]:
    return mutated(g, _qrels_text(g, g.choice((4, 5)))), _run_text(g, "a")


def _try_qrels(case: tuple[bytes, bytes]) -> str:
    qrels, run = case
    subtopics = len(qrels) % 2 == 0
    read = read_collection(
        [_path("x.run", run)], _path("q.txt", qrels), missing="zero", jobs=1, subtopics=subtopics
    )
    score(read, ["AP", "nDCG@10"], jobs=1)
    return "read"


def _make_packed(g: random.Random) -> tuple[str, bytes, bytes]:
    ending, run = g.choice((".gz", ".bz2", ".xz", ".zst")), _run_text(g, "a")
    packed = compress_text(ending, run)
    return ending, mutated(g, packed) if g.random() < 0.9 else packed, run


def _try_packed(case: tuple[str, bytes, bytes]) -> str:
    ending, packed, run = case
    read = read_collection(
        [_path(f"x.run{ending}", packed)],
        _path("q.txt", _qrels_text(random.Random(1))),
        missing="zero",
        jobs=1,
    )
    plain = read_collection([_path("x.run", run)], FOLDER / "q.txt", missing="zero", jobs=1)
    if not np.array_equal(read.docs, plain.docs):
        raise Wrong("a damaged file was read as another run")
    return "right"


# scoring ------------------------------------------------------------------------------------------------------------


def _make_pipeline(g: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    qrels = {
        str(t): {f"d{d}": g.choice((0, 0, 1, 2, 3)) for d in g.sample(range(40), g.randint(1, 20))}
        for t in range(1, g.randint(2, 5))
    }

    def ranking() -> dict[str, float]:
        docs = g.sample(range(40), g.randint(1, 30))
        return {f"d{d}": float(np.float32(round(g.gauss(0, 2), g.randint(0, 3)))) for d in docs}

    runs = {name: {topic: ranking() for topic in qrels} for name in ("a", "b")}
    return runs, qrels


def _values(found: xr.Dataset) -> dict[tuple[str, str, str], float]:
    """Scores by measure, topic and system."""
    systems = found["system"].values.tolist()
    return {
        (str(name), topic, system): value
        for name, table in found.data_vars.items()
        for topic, row in zip(found["topic"].values, table.transpose("topic", "system").values, strict=True)
        for system, value in zip(systems, row.tolist(), strict=True)
    }


def _try_pipeline(case: tuple[dict[str, Any], dict[str, Any]]) -> str:
    runs, qrels = case
    found = _values(score(read_collection(runs, qrels, jobs=1), list(TREC), jobs=1))
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(TREC.values()))
    for system, run in runs.items():
        for topic, answers in evaluator.evaluate(run).items():
            for ours, theirs in TREC.items():
                value = found[ours, topic, system]
                if math.isnan(value):
                    value = 0.0  # no relevant document: undefined for us, 0 for them
                if abs(value - answers[theirs]) > 1e-9:
                    raise Wrong(f"{ours} of {system} on {topic}: {value}, trec_eval {answers[theirs]}")
    return "right"


def _make_diversity(g: random.Random) -> tuple[list[Any], dict[str, Any]]:
    judged = {
        (str(t), str(s), f"d{d}"): 1
        for t in (1, 2)
        for s in range(1, g.randint(2, 5))
        for d in g.sample(range(20), g.randint(1, 8))
    }

    def ranking() -> dict[str, float]:
        return {f"d{d}": float(-k) for k, d in enumerate(g.sample(range(20), g.randint(1, 18)))}

    runs = {name: {topic: ranking() for topic in ("1", "2")} for name in ("a", "b")}
    return sorted(judged), runs


def _try_diversity(case: tuple[list[Any], dict[str, Any]]) -> str:
    judged, runs = case
    text = "".join(f"{t} {s} {d} 1\n" for t, s, d in judged).encode()
    read = read_collection(runs, _path("d.txt", text), subtopics=True, jobs=1)
    found = _values(score(read, ["alpha_nDCG@10", "ERR_IA@10"], jobs=1))
    qrels = [pyndeval.SubtopicQrel(t, s, d, 1) for t, s, d in judged]
    for system, run in runs.items():
        listed = [pyndeval.ScoredDoc(t, d, v) for t, docs in run.items() for d, v in docs.items()]
        for topic, answers in pyndeval.ndeval(qrels, listed, measures=["alpha-nDCG@10", "ERR-IA@10"]).items():
            for ours, theirs in (("alpha_nDCG@10", "alpha-nDCG@10"), ("ERR_IA@10", "ERR-IA@10")):
                value = found[ours, topic, system]
                if abs(value - answers[theirs]) > 1e-6:
                    raise Wrong(f"{ours} of {system} on {topic}: {value}, ndeval {answers[theirs]}")
    return "right"


# tables -------------------------------------------------------------------------------------------------------------


def _scores(g: random.Random) -> xr.DataArray:
    topics, systems = g.choice((1, 2, 5, 8)), g.choice((1, 2, 3, 4))
    values = [[round(g.random(), g.randint(1, 16)) for _ in range(systems)] for _ in range(topics)]
    coords = {"topic": [f"t{k}" for k in range(topics)], "system": [f"s{k}" for k in range(systems)]}
    return xr.DataArray(values, coords, name=g.choice(("AP", "score", "correct")))


@cache
def _written(seed: int, ending: str, layout: str) -> bytes:
    table = _scores(random.Random(seed))
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"made{ending}"
    if ending == ".xlsx":
        table.to_dataframe().reset_index().to_excel(path, index=False)
    elif ending == ".eval":
        with zipfile.ZipFile(path, "w") as archive:
            for name, part in _inspect(table).items():
                archive.writestr(zipfile.ZipInfo(name), json.dumps(part))  # of no date but 1980
    elif ending in (".jsonl", ".json"):
        rows = table.to_dataframe().reset_index().to_dict("records")
        path.write_text(json.dumps(rows) if ending == ".json" else "\n".join(map(json.dumps, rows)))
    elif ending == ".txt":
        rows = [
            f"map\t{t}\t{float(v)!r}" for t, v in zip(table["topic"].values, table.values[:, 0], strict=True)
        ]
        path.write_text("\n".join([*rows, "map\tall\t0.5"]) + "\n")
    else:
        write_scores(table, path, layout=layout)  # type: ignore[arg-type]
    return path.read_bytes()


def _inspect(table: xr.DataArray) -> dict[str, Any]:
    head = {"eval": {"task": "x", "model": "m", "dataset": {}}, "status": "success"}
    samples = [
        {"id": str(t), "epoch": 1, "scores": {"match": {"value": float(v)}}}
        for t, v in zip(table["topic"].values, table.values[:, 0], strict=True)
    ]
    return {"header.json": head, "summaries.json": samples}


ENDINGS = (
    ".csv",
    ".csv",
    ".tsv",
    ".csv.gz",
    ".csv.zst",
    ".json",
    ".jsonl",
    ".txt",
    ".parquet",
    ".nc",
    ".eval",
)


def _make_table(g: random.Random) -> tuple[str, int, str, bytes]:
    ending, seed, layout = g.choice(ENDINGS), g.randrange(TABLES), g.choice(("long", "wide"))
    content = mutated(g, _written(seed, ending, layout))
    while ending == ".nc" and not is_ours(
        content
    ):  # it would be read by a process of its own: a target of its own
        content = mutated(g, _written(seed, ending, layout))
    return ending, seed, layout, content


def _try_table(case: tuple[str, int, str, bytes]) -> str:
    ending, seed, _, content = case
    found = read_scores(_path(f"x{ending}", content))
    table = found if isinstance(found, xr.DataArray) else found[next(iter(found.data_vars))]
    if np.isinf(table.values).any() or not {"topic", "system"} <= set(table.dims):
        raise Wrong(f"{table.dims}, infinite: {np.isinf(table.values).any()}")
    if ending in (".parquet", ".nc", ".csv.gz", ".csv.zst"):  # with a checksum
        known = _scores(random.Random(seed))
        if not np.array_equal(np.sort(table.values.ravel()), np.sort(known.values.ravel())):
            raise Wrong("a damaged file was read as other scores")
        return "right"
    return "read"


def _make_plain(g: random.Random) -> bytes:
    text = _written(g.randrange(TABLES), g.choice((".csv", ".tsv")), g.choice(("long", "wide")))
    text = text.replace(b"\n", b"\r\n") if g.random() < 0.2 else text
    return text if g.random() < 0.1 else mutated(g, text)


def _try_plain(content: bytes) -> str:
    """Arrow reads of short tables, too, what is read cell by cell; types aside, which only it infers."""
    text = Padded(*guarded(*pad_text(content, np.empty(0, dtype=np.uint8))))
    by_cell = _said(text)
    with mock.patch.object(delimited, "SHORT", 0):
        by_arrow = _said(text)
    if by_cell != by_arrow:
        raise Wrong(f"{by_arrow!r:.500} instead of {by_cell!r:.500}")
    return "refused" if isinstance(by_cell, str) else "right"


def _said(text: Padded) -> Any:
    """All cells of a table as labels and as numbers, or why it is refused."""
    try:
        sheet = delimited.read_delimited(text, Path("x.csv"))
    except InputError as error:
        return str(error)
    return {
        name: repr(np.where(np.isfinite(one.values), one.values, np.nan).tolist())
        for name, one in sheet.columns.items()
    }


def _make_workbook(g: random.Random) -> bytes:
    return mutated(g, _written(g.randrange(5), ".xlsx", "long"))


def _try_workbook(content: bytes) -> str:
    read_scores(_path("x.xlsx", content))
    return "read"


def _make_foreign(g: random.Random) -> bytes:
    return mutated(g, _written(g.randrange(TABLES), ".nc", "long")[:-110])


def _try_foreign(content: bytes) -> str:
    read_scores(_path("x.nc", content))
    return "read"


def _make_saved(g: random.Random) -> tuple[str, bytes]:
    kind = g.choice(("collection", "splits"))
    content = _saved()[kind]
    return kind, mutated(g, content)


@cache
def _saved() -> dict[str, bytes]:
    FOLDER.mkdir(exist_ok=True)
    runs, qrels = _make_pipeline(random.Random(3))
    read = read_collection(runs, qrels, jobs=1)
    read.save(FOLDER / "c.zst")
    sw.split(read, 2, seed=1).save(FOLDER / "s.zst")
    return {"collection": (FOLDER / "c.zst").read_bytes(), "splits": (FOLDER / "s.zst").read_bytes()}


def _try_saved(case: tuple[str, bytes]) -> str:
    kind, content = case
    path = _path(f"x.{kind}", content)
    if kind == "collection":
        score(Collection.load(path), ["AP"], jobs=1)
    else:
        Splits.load(path)
    return "read"


# statistics ---------------------------------------------------------------------------------------------------------


def _make_paired(g: random.Random) -> Any:
    topics, scale = g.randint(2, 60), 10.0 ** g.choice((0, 0, 0, -90, 90, -9, 9))
    rng = np.random.default_rng(g.randrange(2**63))
    y = rng.normal(size=(topics, 3)) + rng.normal(size=(topics, 1)) * g.choice((0, 1, 10))
    y[:, 2] *= 10.0 ** g.choice((0, 0, 6, -6, 12))
    return np.round(y, g.choice((1, 2, 3, 15))) * scale


def _try_paired(y: Any) -> str:
    names = ["a", "b", "c"]
    pairs = paired_tests(xr.DataArray(y, {"system": names}, ("topic", "system")), "t").to_frame()
    for row in pairs.itertuples():
        one, other = y[:, names.index(row.a)], y[:, names.index(row.b)]
        d = one - other
        if np.abs(d - d.mean()).max() <= 1e-9 * max(np.abs(one).max(), np.abs(other).max()):
            continue  # no spread but rounding, of which scipy warns
        with np.errstate(all="ignore"):
            p = stats.ttest_rel(one, other).pvalue
        if not math.isclose(row.p, p, rel_tol=1e-6, abs_tol=1e-300):
            raise Wrong(f"p of {row.a} and {row.b}: {row.p}, scipy {p}")
    return "right"


# words --------------------------------------------------------------------------------------------------------------


def _make_words(g: random.Random) -> tuple[str, str]:
    kind = g.choice(("measure", "procedure", "model", "claim"))
    known = {
        "measure": [
            "nDCG(dcg='exp-log2')@20",
            "AP(rel=2)@100",
            "P_10",
            "RBP(p=0.8)",
            "ERR@10",
            "alpha_nDCG@5",
        ],
        "procedure": [
            "MD6 hsd topic+shard",
            "t holm",
            "max-t",
            "banova MD3 marginal bh",
            "moderated",
            "unified holm",
        ],
        "model": [
            "topic*system",
            "topic + system + topic:system",
            "MD4",
            "a*b*c*d*e*f*g*h",
            "topic*system*shard",
        ],
        "claim": ["topic", "topic,shard", "topic+instance", "these"],
    }[kind]
    return kind, mutated(g, g.choice(known).encode()).decode("utf-8", "replace")


def _try_words(case: tuple[str, str]) -> str:
    kind, text = case
    if kind == "measure":
        one = parse_measure(text)
        if str(parse_measure(str(one))) != str(one):
            raise Wrong(f"{one} does not read back")
    elif kind == "procedure":
        one = sw.methods.parse_procedure(text)
        if sw.methods.parse_procedure(str(one)) != one:
            raise Wrong(f"{one} does not read back")
    elif kind == "model":
        sw.Model.parse(text)
    else:
        sw.Claim(*[part for part in text.split(",") if part])
    return "read"


CONFIG = b"""alpha = 0.05
scores = "t.csv"
[compare]
method = "t holm"
only = ["a", "b"]
seed = 3
"""


def _make_page(g: random.Random) -> tuple[str, bytes]:
    kind = g.choice(("toml", "report"))
    return kind, mutated(g, CONFIG if kind == "toml" else _report())


@cache
def _report() -> bytes:
    """A page that has no more than what is read of a report."""
    inside = json.dumps({"recipe": None, "inputs": [], "scores": [0.5, 0.25], "n": 10**30})
    packed = base64.b64encode(gzip.compress(inside.encode(), mtime=0)).decode()
    data = json.dumps({"files": [{"name": "report.json", "packed": packed}]})
    return f'<html><script id="data" type="application/json">{data}</script></html>'.encode()


def _try_page(case: tuple[str, bytes]) -> str:
    kind, content = case
    if kind == "report":
        read_report(_path("x.html", content))
    else:
        AnalysisFile.read_file(_path("x.toml", content)).read_values(list_commands()["compare",], ["compare"])
    return "read"


# the command line ---------------------------------------------------------------------------------------------------

LINES = [
    "compare T", "compare T --method M", "compare T --format F", "compare T --out O", "compare T --baseline N",
    "compare T --measure N", "compare Q A B --measure N", "compare Q A B --shards 2", "score Q A B -m N", "score Q A B",
    "leaderboard T -f F", "stability T", "design power --min-diff 0.1 T",
    "design interval T --width 0.1", "gate T --baseline N",
    "compare T --margin N",
    "compare T --alpha N", "compare T --columns item=N,system=N", "repeat R", "compare --config C",
    "compare --json-schema", "N", "compare N", "paper T --out P", "compare T --fill N", "compare T --generalize N",
]  # fmt: skip
METHODS = ["t holm", "max-t", "moderated", "MD1 hsd", "wilcoxon bh", "sign none", "nothing"]


def _make_line(g: random.Random) -> tuple[list[str], dict[str, bytes]]:
    ending = g.choice(ENDINGS[:-2])
    table = _written(g.randrange(TABLES), ending, g.choice(("long", "wide")))
    files = {
        f"t{ending}": mutated(g, table) if g.random() < 0.5 else table,
        "q.txt": mutated(g, _qrels_text(g)) if g.random() < 0.3 else _qrels_text(g),
        "a.run": _run_text(g, "a"),
        "b.run": mutated(g, _run_text(g, "b")) if g.random() < 0.3 else _run_text(g, "b"),
        "c.toml": mutated(g, CONFIG.replace(b"t.csv", f"t{ending}".encode())),
        "r.html": mutated(g, _report()),
    }
    odd = [one.decode("utf-8", "surrogateescape") for one in NASTY if b"\0" not in one and len(one) < 3000]
    places = {
        "T": [f"t{ending}"],
        "Q": ["q.txt"],
        "A": ["a.run"],
        "B": ["b.run"],
        "C": ["c.toml"],
        "R": ["r.html"],
        "O": ["o.csv", "o.json", "o.md", "o.tex", "o.weird", "q.txt"],
        "P": ["paper"],
        "M": METHODS,
        "F": ["json", "csv", "latex", "markdown", "x"],
        "N": [*odd, "AP", "s0", "0.05", "P@10"],
    }
    words = []
    for word in g.choice(LINES).split():
        if word in places:
            words.append(g.choice(places[word]))
        elif "=N" in word:
            words.append(word.replace("N", g.choice(places["N"])))
        else:
            words.append(word)
    if g.random() < 0.2 and words:
        words.insert(g.randrange(len(words) + 1), g.choice(places["N"]))
    return words, files


WRITING = (
    "--out",
    "-o",
    "--report",
    "--chart",
    "--save",
)  # a file after these may be written over, if it is not read


def _try_line(case: tuple[list[str], dict[str, bytes]]) -> str:
    words, files = case
    folder = FOLDER / "line"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.is_file():
            old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        contextlib.chdir(folder),
        mock.patch.object(sys, "argv", ["shardwise", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = 1
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    said = err.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    if code not in (0, 2, 3) or "Traceback" in said or "Warning" in said:
        raise Wrong(f"exit {code}: {words}: {said[-300:]}")
    if code == 2 and (not said.strip() or len(said.strip().splitlines()) > 1) and "Usage" not in said:
        raise Wrong(f"not one line: {words}: {said[:300]!r}")
    strays = [path.name for path in folder.iterdir() if path.name.endswith(".partial")]
    asked = {
        word for before, word in itertools.pairwise(words) if before in WRITING and words.count(word) == 1
    }
    kept = {name: content for name, content in files.items() if name not in {"o", *asked}}
    if strays or any((folder / name).read_bytes() != content for name, content in kept.items()):
        raise Wrong(f"inputs changed or drafts left: {words}, {strays}")
    return "read" if code != 2 else "refused"


TARGETS = {
    "number": Target(_make_number, _try_number, 45.0),
    "words": Target(_make_words, _try_words, 3.0),
    "page": Target(_make_page, _try_page, 8.0),
    "run": Target(_make_run, _try_run, 14.0),
    "qrels": Target(_make_qrels, _try_qrels, 6.0),
    "packed": Target(_make_packed, _try_packed, 4.0),
    "saved": Target(_make_saved, _try_saved, 4.0),
    "table": Target(_make_table, _try_table, 10.0),
    "plain": Target(_make_plain, _try_plain, 10.0),
    "pipeline": Target(_make_pipeline, _try_pipeline, 2.0),
    "diversity": Target(_make_diversity, _try_diversity, 2.0),
    "paired": Target(_make_paired, _try_paired, 2.0),
    "workbook": Target(_make_workbook, _try_workbook, 0.05),
    "foreign": Target(_make_foreign, _try_foreign, 0.003),
    "line": Target(_make_line, _try_line, 0.2),
}


def prepare() -> None:
    """Write the tables once, for all processes that are forked."""
    for seed in range(TABLES):
        for ending in dict.fromkeys(ENDINGS):
            for layout in ("long", "wide"):
                _written(seed, ending, layout)
