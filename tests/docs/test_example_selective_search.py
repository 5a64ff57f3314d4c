"""The example on selective search, on a small collection made up here."""

from __future__ import annotations

import gzip
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import shardwise as sw

pytest.importorskip("bm25s", reason="the example needs bm25s: pip install bm25s")
pytest.importorskip("sklearn", reason="the example needs scikit-learn: pip install scikit-learn")
pytest.importorskip("Stemmer", reason="the example needs PyStemmer: pip install PyStemmer")

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "selective_search"
THEMES = (
    "antenna radar signal",
    "transistor diode junction",
    "ionosphere solar flare",
    "computer logic memory",
)
RATES = (0.02, 0.3)
MEASURES = ("P@10", "AP")


@pytest.fixture(scope="module", autouse=True)
def _path() -> object:
    sys.path.insert(0, str(EXAMPLE))
    yield
    sys.path.remove(str(EXAMPLE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 documents about four themes, 12 queries, a few relevant documents each, as TREC files."""
    rng = np.random.default_rng(5)
    common = [
        f"{stem}{end}"
        for stem in ("meas", "theor", "metho", "resul", "effec")
        for end in ("a", "e", "o", "u")
    ]
    documents, themes = [], rng.integers(4, size=300)
    for d, theme in enumerate(themes):
        words = [*rng.choice(THEMES[theme].split(), 4), *rng.choice(common, 8)]
        documents.append(f"<DOC>\n<DOCNO>d{d}</DOCNO>\n<b>{' '.join(words)}</b>\n</DOC>\n")
    queries, qrels = [], []
    for t in range(12):
        theme = t % 4
        words = [*rng.choice(THEMES[theme].split(), 2, replace=False), *rng.choice(common, 2)]
        queries.append(f"<top>\n<num>{t + 1}</num><title>\n{' '.join(words).upper()}\n</title>\n</top>\n")
        relevant = rng.choice(np.flatnonzero(themes == theme), 8, replace=False)
        qrels += [f"{t + 1} 0 d{d} 1\n" for d in relevant]
    place = tmp_path_factory.mktemp("small")
    with gzip.open(place / "doc-text.trec.gz", "wt") as file:
        file.write("".join(documents))
    (place / "query-text.trec").write_text(
        "".join(queries) + "<top>\n<num>99</num><title>lone</title>\n</top>\n"
    )
    (place / "qrels").write_text("".join(qrels))
    return place


def part(name: str) -> ModuleType:
    return importlib.import_module(f"selective_search.{name}")


@pytest.fixture(scope="module")
def scores(folder: Path) -> xr.Dataset:
    instances, texts = part("instances"), part("texts")
    setting = instances.Setting(
        rates=RATES, instances=6, shards=8, searched=2, hits=10, cluster_share=0.4, measures=MEASURES
    )
    found: xr.Dataset = instances.score_instances(texts.load_trec(folder), setting)
    return found


def test_texts_are_read_without_tags_and_topics_without_judgments(folder: Path) -> None:
    texts = part("texts").load_trec(folder)
    assert len(texts.docnos) == 300
    assert list(texts.docnos) == sorted(texts.docnos)
    assert texts.topics == tuple(str(t) for t in range(1, 13))
    assert not any("<" in document for document in texts.documents)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(sw.InputError, match="doc-text"):
        part("texts").load_trec(tmp_path)


def test_a_collection_of_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(words: str, **names: object) -> SimpleNamespace:
        return SimpleNamespace(default_text=lambda: words, **names)

    dataset = SimpleNamespace(
        docs_iter=lambda: iter([text("a radar", doc_id="2"), text("a diode", doc_id="10")]),
        queries_iter=lambda: iter([text("radar", query_id="q"), text("unjudged", query_id="r")]),
        qrels_iter=lambda: iter(
            SimpleNamespace(query_id="q", doc_id=doc, relevance=2) for doc in ("2", "elsewhere")
        ),
    )
    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load={"vaswani": dataset}.__getitem__))
    texts = part("texts").load_ir_dataset("vaswani")
    assert texts.docnos == ("10", "2")
    assert texts.topics == ("q",)
    assert texts.qrels == {"q": {"2": 2}}
    assert texts.left_out == 1


def test_rankings_score_as_the_same_runs_read_by_the_library(folder: Path) -> None:
    """The short way to a collection must not differ from handing over {topic: {document: score}}."""
    engine_of, redde, rng = part("engine"), part("redde"), np.random.default_rng(1)
    texts = part("texts").load_trec(folder)
    engine = engine_of.build(texts, engine_of.tokenize(texts.documents))
    shard = rng.integers(5, size=300).astype(np.int32)
    chosen = redde.select_shards(engine.scores, redde.central_sample(300, 0.2, rng), shard, 5, 10, 2)
    runs = {}
    ways = []
    for name, kept in (("whole", np.ones(chosen.shape, bool)), ("some", chosen)):
        ways.append(engine_of.rankings(engine, kept[engine.topic_of, shard[engine.docs]], 20))
        runs[name] = {
            topic: {
                texts.docnos[d]: float(engine.scores[t, d])
                for d in range(300)
                if engine.scores[t, d] > 0 and kept[t, shard[d]]
            }
            for t, topic in enumerate(texts.topics)
        }
    short = sw.score(engine_of.collection(engine, ways, ["whole", "some"]), ["AP", "P@10", "nDCG@10"])
    long = sw.score(sw.read_collection(runs, texts.qrels, depth=20), ["AP", "P@10", "nDCG@10"])
    xr.testing.assert_allclose(short, long, rtol=0, atol=1e-15)
    assert float(abs(short["AP"][:, 0] - short["AP"][:, 1]).max()) > 0.01


def test_redde_weighs_a_hit_by_what_it_stands_for() -> None:
    # shard 0 has 6 documents of which 3 are sampled, shard 1 has 8 of which 1: its single hit counts 8, not 1
    shard = np.array([0] * 6 + [1] * 8)
    sample = np.array([0, 1, 2, 6])
    scores = np.zeros((2, 14))
    scores[0, [0, 1, 2, 6]] = [4, 3, 2, 1]
    scores[1, [0, 1, 2]] = [3, 2, 1]
    chosen = part("redde").select_shards(scores, sample, shard, 2, hits=4, most=1)
    np.testing.assert_array_equal(chosen, [[False, True], [True, False]])


def test_partition_finds_the_themes(folder: Path) -> None:
    engine, partition = part("engine"), part("partition")
    texts = part("texts").load_trec(folder)
    tokens = engine.tokenize(texts.documents)
    theme = np.array(
        [max(range(4), key=lambda k: sum(w in doc for w in THEMES[k].split())) for doc in texts.documents]
    )
    best = max(
        stats.chi2_contingency(
            np.histogram2d(
                partition.partition(partition.tf_idf(tokens), 4, 0.5, np.random.default_rng(s)), theme, 4
            )[0]
            + 1e-9
        ).statistic
        for s in range(5)
    )
    assert best > 450  # 900 if shards were themes


def test_scores_of_the_study(scores: xr.Dataset) -> None:
    assert scores["AP"].dims == ("system", "instance", "topic")
    assert scores["system"].values.tolist() == ["exhaustive", "2%", "30%", "again"]
    assert scores["deterministic"].values.tolist() == [True, False, False, False]
    drawn = scores["AP"].isel(system=slice(1, None))
    assert drawn.notnull().all()
    assert scores["AP"].sel(system="exhaustive").isel(instance=slice(1, None)).isnull().all()
    # instances differ, a larger sample loses less, and only a part is searched
    assert float(drawn.mean("topic").std("instance").min()) > 0
    means = drawn.mean(("instance", "topic")).values
    assert means[0] < means[1]
    assert float(scores["searched"].isel(system=slice(1, None)).max()) < 0.6


def test_an_instance_depends_on_its_number_only(folder: Path, scores: xr.Dataset) -> None:
    instances, texts = part("instances"), part("texts")
    setting = instances.Setting(
        rates=(0.02,), instances=3, shards=8, searched=2, hits=10, cluster_share=0.4, measures=MEASURES
    )
    again = instances.score_instances(texts.load_trec(folder), setting)
    xr.testing.assert_equal(
        again["AP"].sel(system="2%", drop=True),
        scores["AP"].sel(system="2%", drop=True).isel(instance=slice(3)),
    )


def test_single_tests_are_paired_t_tests(scores: xr.Dataset) -> None:
    table = part("analysis").single_tests(scores, 0.01)
    row = table[(table["measure"] == "AP") & (table["rate"] == 0.02) & (table["instance"] == "2")].iloc[0]
    one = scores["AP"].sel(system="2%").isel(instance=2).values
    whole = scores["AP"].sel(system="exhaustive").isel(instance=0).values
    assert row["p"] == pytest.approx(stats.ttest_rel(one, whole).pvalue, rel=1e-10)
    above = stats.ttest_1samp(one - whole, -0.01, alternative="greater").pvalue
    assert row["p_worse"] == pytest.approx(above, rel=1e-10)


def test_the_first_rate_without_a_significant_loss_is_counted_once_a_seed(scores: xr.Dataset) -> None:
    analysis = part("analysis")
    counts = analysis.first_without_loss(analysis.single_tests(scores, 0.01))
    assert counts.groupby("measure")["seeds"].sum().to_dict() == dict.fromkeys(MEASURES, 6)


@pytest.mark.slow
def test_summary_and_figures(
    scores: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    charts = importlib.import_module("charts")
    scores.drop_vars("P@10").to_netcdf(tmp_path / "scores.nc", engine="h5netcdf")
    options = f"--pools 2 --sizes 5 --format json --images {tmp_path} --summary {tmp_path / 'summary.csv'}"
    monkeypatch.setattr(sys, "argv", ["charts.py", str(tmp_path / "scores.nc"), *options.split()])
    assert charts.main() == 0
    drawn = {path.name[11:13]: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}
    assert sorted(drawn) == ["06", "07", "08", "09", "10", "11", "12", "13", "si"]
    assert [len(drawn[figure]["hconcat"]) for figure in ("06", "08", "09", "12")] == [1, 1, 2, 1]
    table = pd.read_csv(tmp_path / "summary.csv")
    assert len(table) == len(RATES)
    whole = scores["AP"].sel(system="exhaustive").mean().item()
    lost = scores["AP"].sel(system="2%").mean().item() - whole
    row = table[(table["measure"] == "AP") & (table["rate"] == 0.02)].iloc[0]
    assert row["difference"] == pytest.approx(lost, rel=1e-4)
    assert row["hpd_lower"] < row["lower"] < row["difference"] < row["upper"] < row["hpd_upper"]
    assert "AP: " in capsys.readouterr().out


def test_charts_without_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["charts.py", str(tmp_path / "none.nc")])
    assert importlib.import_module("charts").main() == 2
    assert "run.py" in capsys.readouterr().err


def test_run_keeps_the_scores(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = "--rates 0.1 0.3 --instances 2 --shards 8 --searched 2 --hits 10"
    out = tmp_path / "scores.nc"
    monkeypatch.setattr(sys, "argv", ["run.py", "--data", str(folder), "--out", str(out), *options.split()])
    assert importlib.import_module("run").main() == 0
    kept = xr.load_dataset(out, engine="h5netcdf")
    assert dict(kept["P@10"].sizes) == {"system": 4, "instance": 2, "topic": 12}
