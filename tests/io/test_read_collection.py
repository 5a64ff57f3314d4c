"""Runs and qrels of every shape into one collection, compared with pytrec_eval's order of documents."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.core.errors import InputError
from shardwise.io.collection import UNJUDGED, Collection
from shardwise.io.reader import read_collection

QRELS = {"1": {"a": 1, "b": 0, "z": 2}, "2": {"c": 1}, "10": {"a": 0, "c": 3}}
RUN = {"1": {"b": 0.5, "a": 1e-3, "q": 0.5}, "2": {"c": -1.0, "a": -2.5}, "10": {"c": 9.0}}


def lines(run: dict[str, dict[str, float]], tag: str = "tag", sep: str = " ", end: str = "\n") -> str:
    rows = [
        (t, "Q0", d, str(i), repr(s), tag) for t, docs in run.items() for i, (d, s) in enumerate(docs.items())
    ]
    return "".join(sep.join(row) + end for row in rows)


def qrel_lines(qrels: dict[str, dict[str, int]]) -> str:
    return "".join(f"{t} 0 {d} {g}\n" for t, docs in qrels.items() for d, g in docs.items())


def rankings(collection: Collection) -> dict[str, dict[str, list[str]]]:
    names = collection.docnos()
    return {
        system: {
            topic: [names[d] for d in collection.ranking(r, t)] for t, topic in enumerate(collection.topics)
        }
        for r, system in enumerate(collection.systems)
    }


def in_order(run: dict[str, dict[str, float]], single: bool = True) -> dict[str, list[str]]:
    """trec_eval's order by Python's own sorting."""

    def key(item: tuple[str, float]) -> tuple[float, bytes]:
        return (float(np.float32(item[1])) if single else item[1], item[0].encode())

    return {t: [d for d, _ in sorted(docs.items(), key=key, reverse=True)] for t, docs in run.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text(qrel_lines(QRELS))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.run").write_text(lines(RUN))
    return tmp_path


def read(folder: Path, **options: Any) -> Collection:
    return read_collection(folder / "runs", folder / "qrels.txt", **options)


def test_order_grades_and_names(folder: Path) -> None:
    collection = read(folder)
    assert collection.systems == ("tag",)
    assert collection.topics == ("1", "2", "10")
    assert rankings(collection)["tag"] == {"1": ["q", "b", "a"], "2": ["c", "a"], "10": ["c"]}
    assert collection.grades.tolist() == [UNJUDGED, 0, 1, 1, UNJUDGED, 3]
    assert collection.docnos() == ["a", "b", "c", "q", "z"]
    names = collection.docnos()
    judged = {
        topic: {names[collection.qrel_docs[i]]: int(collection.qrel_grades[i]) for i in range(start, stop)}
        for topic, start, stop in zip(
            collection.topics, collection.qrel_starts[:-1], collection.qrel_starts[1:], strict=True
        )
    }
    assert judged == QRELS


@pytest.mark.parametrize("sep", [" ", "\t", "  \t "])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\n\n", "\n   \n"])
def test_white_space_does_not_matter(folder: Path, sep: str, end: str) -> None:
    expected = rankings(read(folder))
    (folder / "runs" / "one.run").write_bytes(lines(RUN, sep=sep, end=end).encode())
    assert rankings(read(folder)) == expected


def test_a_last_line_without_newline_a_byte_order_mark_and_an_indented_line(folder: Path) -> None:
    expected = rankings(read(folder))
    (folder / "runs" / "one.run").write_bytes(b"\xef\xbb\xbf  " + lines(RUN).rstrip("\n").encode())
    assert rankings(read(folder)) == expected


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda text: zstandard.ZstdCompressor().compress(text)),
        ("", gzip.compress),
    ],
)
def test_compressed_files(folder: Path, ending: str, compress: Callable[[bytes], bytes]) -> None:
    expected = rankings(read(folder))
    (folder / "runs" / "one.run").unlink()
    (folder / "runs" / f"one.run{ending}").write_bytes(compress(lines(RUN).encode()))
    collection = read(folder)
    assert rankings(collection) == expected
    assert read(folder, names="file").systems == ("one.run",)


def test_paths_globs_lists_and_folders_are_the_same(folder: Path) -> None:
    (folder / "runs" / "two.run").write_text(lines(RUN, tag="other"))
    expected = read(folder)
    for runs in (
        str(folder / "runs"),
        str(folder / "runs" / "*.run"),
        [folder / "runs" / "one.run", folder / "runs" / "two.run"],
        (path for path in sorted((folder / "runs").iterdir())),
    ):
        assert read_collection(runs, [folder / "qrels.txt"]).systems == expected.systems


SCORES = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-100, 100).map(lambda x: round(x, 3)),
    st.sampled_from(
        [1.0, 1.0 + 1e-12, 1.0 - 1e-12, 1e-3, float("inf"), float("-inf"), 16777217.0, 16777216.0]
    ),
)
RUNS = st.dictionaries(
    st.sampled_from(["1", "2", "10"]),
    st.dictionaries(st.text("abAB-\u00e9", min_size=1, max_size=18), SCORES, min_size=1, max_size=60),
    min_size=1,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(run=RUNS, single=st.booleans(), shuffle=st.randoms())
def test_rankings_are_in_trec_evals_order(
    run: dict[str, dict[str, float]], single: bool, shuffle: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("order")
    rows = lines(run).splitlines(keepends=True)
    shuffle.shuffle(rows)  # topics interleaved, ranks meaningless
    (folder / "r").write_text("".join(rows), encoding="utf-8")
    (folder / "q").write_text(qrel_lines({t: {"a": 1} for t in run}))
    collection = read_collection(folder / "r", folder / "q", precision="single" if single else "double")
    assert rankings(collection)["tag"] == in_order(run, single)
    again = read_collection(
        {"tag": run}, {t: {"a": 1} for t in run}, precision="single" if single else "double"
    )
    assert rankings(again) == rankings(collection)


def test_single_precision_is_what_pytrec_eval_does() -> None:
    qrels = {"1": {"a": 1, "b": 0}}
    run = {"1": {"a": 1.0 + 1e-11, "b": 1.0}}  # a tie in single precision: b, the greater name, comes first
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)["1"]["recip_rank"]
    single = rankings(read_collection(run, qrels))["run"]["1"]
    assert 1 / (1 + single.index("a")) == theirs == 0.5
    assert rankings(read_collection(run, qrels, precision="double"))["run"]["1"] == ["a", "b"]


def test_frames_dictionaries_and_ranx_shapes_agree() -> None:
    runs = {"x": RUN, "y": {t: {d: -s for d, s in docs.items()} for t, docs in RUN.items()}}
    expected = rankings(read_collection(runs, QRELS))
    rows = [(n, t, d, s) for n, run in runs.items() for t, docs in run.items() for d, s in docs.items()]
    judged = [(t, d, g) for t, docs in QRELS.items() for d, g in docs.items()]
    ours = pd.DataFrame(rows, columns=["system", "query_id", "doc_id", "score"])
    terrier = pd.DataFrame(rows, columns=["name", "qid", "docno", "score"])
    ir_qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance"])
    terrier_qrels = pd.DataFrame(judged, columns=["qid", "docno", "label"])
    assert rankings(read_collection(ours, ir_qrels)) == expected
    assert rankings(read_collection(terrier, terrier_qrels)) == expected
    assert (
        rankings(read_collection({n: f.drop(columns="name") for n, f in terrier.groupby("name")}, QRELS))
        == expected
    )
    ir_measures = pytest.importorskip("ir_measures")
    scored = [ir_measures.ScoredDoc(t, d, s) for t, docs in RUN.items() for d, s in docs.items()]
    wanted = [ir_measures.Qrel(t, d, g) for t, d, g in judged]
    assert rankings(read_collection(scored, wanted))["run"] == expected["x"]


@pytest.mark.full
def test_ranx_objects() -> None:
    """As ranx compiles itself; without that they are read in `test_objects.py`."""
    ranx = pytest.importorskip("ranx")
    run, qrels = ranx.Run(name="x"), ranx.Qrels()
    for made, scored in (
        (run, RUN),
        (qrels, QRELS),
    ):  # given whole dictionaries, ranx compiles for half a minute
        for topic, documents in scored.items():
            for document, value in documents.items():
                made.add_score(topic, document, value)
    collection = read_collection([run], qrels)
    assert rankings(collection) == rankings(read_collection({"x": RUN}, QRELS))


def test_neither_workers_nor_the_order_of_files_change_a_thing(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for i in range(7):
        run = {t: {f"d{rng.integers(200)}": float(rng.normal()) for _ in range(30)} for t in QRELS}
        (folder / "runs" / f"r{i}").write_text(lines(run, tag=f"s{i}"))
    paths = sorted((folder / "runs").iterdir())
    first = read_collection(paths, folder / "qrels.txt", jobs=1)
    for order, jobs in ((paths, 3), (paths[::-1], 2)):
        other = read_collection(order, folder / "qrels.txt", jobs=jobs)
        assert np.array_equal(first.names, other.names)
        assert rankings(first) == rankings(other)


def test_saved_and_loaded(folder: Path) -> None:
    collection = read(folder)
    collection.save(folder / "all.collection")
    loaded = Collection.load(folder / "all.collection")
    assert loaded.systems == collection.systems
    assert loaded.notes == collection.notes
    assert rankings(loaded) == rankings(collection)
    assert np.array_equal(loaded.grades, collection.grades)
    assert not list(folder.glob("*.partial"))


def test_a_file_that_is_no_saved_collection_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="not a saved collection, or is damaged"):
        Collection.load(folder / "qrels.txt")
    read(folder).save(folder / "all.collection")
    whole = (folder / "all.collection").read_bytes()
    (folder / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged"):
        Collection.load(folder / "cut")
    with pytest.raises(InputError, match="no such file"):
        Collection.load(folder / "nowhere")


class TestNames:
    def test_tags_that_are_not_unique_give_way_to_file_names(self, folder: Path) -> None:
        (folder / "runs" / "two.run").write_text(lines(RUN))
        (folder / "runs" / "three.run").write_text(lines(RUN, tag="third"))
        collection = read(folder)
        assert collection.systems == ("one.run", "third", "two.run")
        assert any("file name" in note and "one.run, two.run" in note for note in collection.notes)

    def test_a_file_with_two_tags_is_called_by_its_name(self, folder: Path) -> None:
        (folder / "runs" / "one.run").write_text(
            lines({"1": RUN["1"]}) + lines({"2": RUN["2"], "10": RUN["10"]}, "b")
        )
        assert read(folder).systems == ("one.run",)
        with pytest.raises(InputError, match="more than one run tag"):
            read(folder, names="tag")

    def test_the_caller_may_choose(self, folder: Path) -> None:
        assert read(folder, names="file").systems == ("one.run",)
        assert read(folder, names=["mine"]).systems == ("mine",)
        assert read(folder, names={"one.run": "mapped"}).systems == ("mapped",)
        assert read(folder, names=lambda path: Path(path).stem.upper()).systems == ("ONE",)
        with pytest.raises(InputError, match="2 names for 1 run;"):
            read(folder, names=["a", "b"])

    def test_duplicate_names_are_refused(self, folder: Path) -> None:
        (folder / "runs" / "two.run").write_text(lines(RUN))
        with pytest.raises(InputError, match=r"two\.run: the name 'tag' is already that of .*one\.run"):
            read(folder, names="tag")


class TestMissingTopics:
    @pytest.fixture
    def gap(self, folder: Path) -> Path:
        (folder / "runs" / "two.run").write_text(lines({t: RUN[t] for t in ("1", "2")}, tag="gap"))
        return folder

    def test_refused_by_default(self, gap: Path) -> None:
        with pytest.raises(
            InputError, match=r"two\.run: system 'gap' has no documents for 1 of 3 topics: 10;.*missing="
        ):
            read(gap)

    def test_zero_keeps_an_empty_ranking(self, gap: Path) -> None:
        collection = read(gap, missing="zero")
        assert rankings(collection)["gap"]["10"] == []
        assert any("1 ranking without documents" in note for note in collection.notes)

    def test_drop_leaves_the_topic_out_for_all(self, gap: Path) -> None:
        collection = read(gap, missing="drop")
        assert collection.topics == ("1", "2")
        assert any(
            "1 topic dropped for want of documents in some run: 10" in note for note in collection.notes
        )

    def test_topics_outside_the_common_ones_are_noted(self, folder: Path) -> None:
        (folder / "runs" / "one.run").write_text(lines({"1": RUN["1"], "99": {"a": 1.0}}))
        collection = read(folder)
        assert collection.topics == ("1",)
        assert any("1 topic retrieved but not judged, left out: 99" in note for note in collection.notes)
        assert any("2 topics judged but in no run, left out: 2, 10" in note for note in collection.notes)
        assert read(folder, topics="judged", missing="zero").topics == ("1", "2", "10")
        assert read(folder, topics=["1"]).topics == ("1",)
        with pytest.raises(InputError, match="no judgments for topic 77"):
            read(folder, topics=["1", "77"])

    def test_no_common_topic(self, folder: Path) -> None:
        (folder / "runs" / "one.run").write_text(lines({"99": {"a": 1.0}}))
        with pytest.raises(InputError, match="no topic in common"):
            read(folder)


def test_very_long_names(folder: Path) -> None:
    """Names of up to the limit, many more of them than one batch of look-ups holds, beside short ones."""
    rng = np.random.default_rng(1)
    run = {
        t: {"u" * int(n) + str(i): float(-i) for i, n in enumerate(rng.integers(1, 1020, 150))} for t in QRELS
    }
    (folder / "runs" / "long").write_text(lines(run, tag="long"))
    assert rankings(read(folder))["long"] == in_order(run)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"jobs": 0}, "0 jobs: give a whole number, 1 or more"),
        ({"depth": 0}, "0 documents deep: give a whole number"),
        ({"depth": 2.5}, "2.5 documents deep: give a whole number"),
        ({"missing": "ignore"}, "'ignore'; choose one of refuse, leave, zero, drop"),
        ({"precision": "half"}, "unknown precision 'half'; choose one of single, double"),
        ({"topics": "all"}, "unknown choice of topics 'all'; choose common or judged"),
        ({"names": "run"}, "unknown way of naming systems 'run'; choose auto, tag or file, or give"),
        ({"intents": {}}, "intents without subtopics; say subtopics=True"),
    ],
)
def test_arguments_are_checked(folder: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(folder, **options)


def test_depth_cuts_and_says_so(folder: Path) -> None:
    collection = read(folder, depth=2)
    assert rankings(collection)["tag"]["1"] == ["q", "b"]
    assert any("1 of 3 rankings deeper than 2, cut there" in note for note in collection.notes)


BAD_RUNS = {
    "five columns": (b"1 Q0 a 1 0.5\n", "bad:1: 5 columns where a run"),
    "two lines in one": (b"1 Q0 b 0 1 t\n1 Q0 a 1 0.5 t1 Q0 c 2 0.4 t\n", "bad:2: 11 columns"),
    "two lines in one, a blank between": (b"1 Q0 a 1 0.5 t 1 Q0 c 2 -.4 t\n", "bad:1: 12 columns"),
    "a qrels file": (b"1 0 a 1\n", "bad:1: 4 columns .* looks like a qrels file"),
    "comma": (
        b"\n1 Q0 a 1 12,5 t\n",
        r"bad:2: score '12,5' is not a number; write it with a point, as in 12\.5",
    ),
    "word": (b"1 Q0 a 1 high t\n", "bad:1: score 'high' is not a number"),
    "underscore": (b"1 Q0 a 1 1_000 t\n", "bad:1: score '1_000' is not a number"),
    "nan": (b"1 Q0 a 1 2 t\n1 Q0 b 1 NaN t\n", "bad:2: score is NaN"),
    "twice": (
        b"1 Q0 a 1 2 t\n2 Q0 a 1 3 t\n\n1 Q0 a 2 1 t\n",
        "bad:4: document 'a' appears twice for topic 1",
    ),
    "empty": (b"", "bad: the file is empty"),
    "blank": (b"\n  \r\n\n", "bad: the file is empty"),
    "zero byte": (b"1 Q0 a 1 2 t\n1 Q0 b\0c 1 2 t\n", "bad:2: byte 0x00 does not belong in a text file"),
    "endless name": (b"1 Q0 " + b"x" * 3000 + b" 1 2 t\n", "bad:1: document name of more than 1024 bytes"),
    "tag in no encoding": (b"1 Q0 a 1 2 \xff\xfe\n", "bad: run tag .* is not valid UTF-8"),
}


@pytest.mark.parametrize("case", BAD_RUNS)
def test_a_bad_run_is_refused_with_file_and_line(folder: Path, case: str) -> None:
    text, message = BAD_RUNS[case]
    (folder / "runs" / "bad").write_bytes(text)
    with pytest.raises(InputError, match=message) as caught:
        read(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)


BAD_QRELS = {
    "a run": (lines(RUN).encode(), "qrels.txt:1: 6 columns .* looks like a run"),
    "conflict": (
        b"1 0 a 1\n2 0 b 1\n1 0 a 0\n",
        "qrels.txt:3: topic 1, document 'a' is judged 0, but 1 before",
    ),
    "fraction": (b"1 0 a 0.5\n", "qrels.txt:1: grade 0.5 is not a whole number"),
    "word": (b"1 0 a yes\n", "qrels.txt:1: grade 'yes' is not a number"),
    "three columns": (b"1 0 b 1\n1 a 1\n", "qrels.txt:2: 3 columns where qrels"),
}


@pytest.mark.parametrize("case", BAD_QRELS)
def test_bad_qrels_are_refused_with_file_and_line(folder: Path, case: str) -> None:
    text, message = BAD_QRELS[case]
    (folder / "qrels.txt").write_bytes(text)
    with pytest.raises(InputError, match=message):
        read(folder)


def test_judgments_that_repeat_are_counted_once(folder: Path) -> None:
    (folder / "qrels.txt").write_text(qrel_lines(QRELS) + "1 0 a 1\n")
    collection = read(folder)
    assert len(collection.qrel_docs) == 6
    assert any("1 judgment repeating another" in note for note in collection.notes)


def test_two_qrels_files_must_agree(folder: Path) -> None:
    (folder / "more.txt").write_text("1 0 new 1\n")
    both = [folder / "qrels.txt", folder / "more.txt"]
    assert len(read_collection(folder / "runs", both).qrel_docs) == 7
    (folder / "more.txt").write_text("1 0 a 3\n")
    with pytest.raises(InputError, match="topic 1 has different grades"):
        read_collection(folder / "runs", both)


def test_files_that_cannot_be_read(folder: Path) -> None:
    whole = gzip.compress(lines(RUN).encode() * 50)
    (folder / "runs" / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut\.gz: cannot be read as a \.gz file"):
        read(folder)
    (folder / "runs" / "cut.gz").write_bytes(b"not gzip")
    with pytest.raises(InputError, match=r"cut\.gz: cannot be read as a \.gz file"):
        read(folder)
    damaged = bytearray(whole)
    damaged[len(damaged) // 2] ^= 0xFF
    (folder / "runs" / "cut.gz").write_bytes(bytes(damaged))
    with pytest.raises(InputError, match=r"cut\.gz: "):
        read(folder)
    (folder / "empty").mkdir()
    for runs, message in (
        (folder / "nowhere", "no such file"),
        (folder / "*.none", "no file matches"),
        (folder / "empty", "the folder has no files"),
    ):
        with pytest.raises(InputError, match=message):
            read_collection(runs, folder / "qrels.txt")
    with pytest.raises(InputError, match="no files"):
        read_collection(folder / "runs" / "one.run", folder / "empty")


def test_the_first_bad_file_in_order_is_the_one_reported(folder: Path) -> None:
    for name in ("x1", "x2", "x3"):
        (folder / "runs" / name).write_text("1 Q0 a\n")
    for _ in range(5):
        with pytest.raises(InputError, match="x1:1"):
            read(folder, jobs=3)


def test_bad_tables_are_refused() -> None:
    for run, message in (
        ({"1": {"a": "high"}}, "row 1: 'high' is not a number"),
        ({"1": {"a": 1.0, "b": float("nan")}}, "row 2: the value is NaN"),
        ({"1": {"": 1.0}}, "document name '' is empty"),
        ({}, "no runs were given"),
    ):
        with pytest.raises(InputError, match=message):
            read_collection(run, QRELS)
    with pytest.raises(InputError, match="no column named score"):
        read_collection(pd.DataFrame({"qid": ["1"], "docno": ["a"]}), QRELS)
    doubled = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "a"], "score": [1.0, 2.0]})
    with pytest.raises(InputError, match="run, row 2: document 'a' appears twice for topic 1"):
        read_collection(doubled, QRELS)


@pytest.mark.slow
def test_real_runs_are_read_as_by_pytrec_eval(data: Path) -> None:
    paths = sorted((data / "robust2003").glob("input.*.gz"))
    collection = read_collection(paths, data / "robust2003" / "robust03_qrels.txt.gz")
    assert (len(collection.systems), len(collection.topics)) == (17, 100)
    names = collection.docnos()
    for path in (paths[2], paths[4], paths[15]):  # depth 10; 15-digit scores; many ties
        with gzip.open(path, "rt") as stream:
            run = pytrec_eval.parse_run(stream)
        r = collection.systems.index(path.name.removeprefix("input.").removesuffix(".gz"))
        expected = in_order(run)
        for t, topic in enumerate(collection.topics):
            assert [names[d] for d in collection.ranking(r, t)] == expected[topic]
