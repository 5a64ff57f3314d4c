"""The parts of the app that need no server: names, archives, store, choices, readings, plans, two reports."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app_server import TOKEN
from command_line import options_of, shardwise
from designs import min_diff_at, power_at
from shardwise.analysis.analyze import analyze
from shardwise.app import uploads
from shardwise.app.choices import from_form, spell_settings, validate_choices
from shardwise.app.examples import EXAMPLES
from shardwise.app.handlers import describe_result, read_packaged
from shardwise.app.planning import PlanForm, compute_figures
from shardwise.app.reading import describe_files
from shardwise.app.server import serve
from shardwise.app.store import Stage, Store
from shardwise.app.summaries import compare_reports, describe_calibration_page, describe_plan
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.io.kinds import kind_of
from shardwise.lab.calibrate import Calibration
from shardwise.lab.verdict import judge_methods
from shardwise.methods.names import parse_procedure
from shardwise.planning import topics_for_power
from shardwise.planning.plans import plan_more

HOSTILE = [
    "../../../etc/passwd", "/etc/passwd", "..\\..\\x", "C:\\x", "a/../../b", "....//x", "~/.ssh/id", "x\x00.csv",
    "<script>alert(1)</script>.csv", "a\nb", "con", ".", "..", "", "/", "." * 300, "x" * 5000 + ".csv", "ü" * 500,
    "\u202egpj.exe", "-rf", "%2e%2e%2fx", "a/b/c/d/e/f/g/h.csv", "*", "$(rm)", "\ud800",
]  # fmt: skip


def inside(path: Path) -> bool:
    """Whether a relative path stays where it is put, under names that any file system takes."""
    parts = path.parts
    return (
        not path.is_absolute()
        and 0 < len(parts) <= uploads.DEEPEST + 1
        and all(part not in (".", "..") and not part.startswith((".", "-")) for part in parts)
        and all(len(part.encode()) < 255 and not set(part) & set('/\\\0*?[]<>|"') for part in parts)
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_becomes_a_harmless_path(name: str, tmp_path: Path) -> None:
    path = uploads.sanitize_name(name)
    assert inside(path)
    target = tmp_path / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"")
    assert target.resolve().is_relative_to(tmp_path.resolve())


@given(st.text(max_size=300))
def test_every_name_becomes_a_harmless_path(name: str) -> None:
    assert inside(uploads.sanitize_name(name))


@pytest.mark.parametrize(
    "name", ["input.BM25+RM3.gz", "samples_task_2024-01-01T10-00-00.jsonl", "läufe (2).csv"]
)
def test_a_usual_name_stays_as_it_is(name: str) -> None:
    assert str(uploads.sanitize_name(name)) == name


def zipped(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_an_archive_is_replaced_by_what_is_in_it(tmp_path: Path) -> None:
    zipped(
        tmp_path / "all.zip",
        {"runs/a.run": b"a", "../../b.run": b"b", "__MACOSX/x": b"x", "runs/.DS_Store": b"x"},
    )
    uploads.unpack_archives(tmp_path, 1000, 10)
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"runs/a.run", "b.run"}
    assert not (tmp_path.parent.parent / "b.run").exists()


def test_links_and_devices_in_a_tar_are_passed_over(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        for name, kind in (("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("pipe", tarfile.FIFOTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        member = tarfile.TarInfo("/abs/good.run")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"ok"))
    uploads.unpack_archives(tmp_path, 10_000, 10)
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()] == ["abs/good.run"]


def test_a_bomb_stops_at_the_limit(tmp_path: Path) -> None:
    zipped(tmp_path / "bomb.zip", {"zeros.csv": bytes(50_000_000)})
    assert (tmp_path / "bomb.zip").stat().st_size < 100_000
    with pytest.raises(uploads.TooMuch, match="larger than 2 MB"):
        uploads.unpack_archives(tmp_path, 2 << 20, 10)
    assert uploads.count_bytes(tmp_path)[1] < 4 << 20


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    zipped(tmp_path / "many.zip", {f"{k}.run": b"x" for k in range(30)})
    with pytest.raises(uploads.TooMuch, match="more than 20 files"):
        uploads.unpack_archives(tmp_path, 1 << 20, 20)


@pytest.mark.parametrize("content", [b"PK\x03\x04 but no archive", b"", bytes(100)])
def test_a_damaged_archive_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "all.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"all\.zip: cannot be unpacked"):
        uploads.unpack_archives(tmp_path, 1000, 10)


def test_the_store_remembers_and_says_what_was_not_finished(tmp_path: Path) -> None:
    store = Store(tmp_path)
    ids = {
        state: store.create_entry().id
        for state in (Stage.reading, Stage.queued, Stage.running, Stage.done, Stage.ready)
    }
    finished = store.create_entry().id
    for state, id in ids.items():
        store.update_entry(id, state=state, choices={"measure": ["AP"]})
    store.update_entry(finished, state=Stage.running)
    store.result_folder(finished).mkdir()  # finished, and the server died before the index knew
    store.close()
    again = Store(tmp_path)
    states = {state: again.find_entry(id) for state, id in ids.items()}
    assert {state: entry.state for state, entry in states.items() if entry} == {
        Stage.reading: Stage.interrupted,
        Stage.queued: Stage.interrupted,
        Stage.running: Stage.interrupted,
        Stage.done: Stage.done,
        Stage.ready: Stage.ready,
    }
    entry = again.find_entry(finished)
    assert entry is not None
    assert (entry.state, entry.message) == (Stage.done, "")
    assert all(entry and entry.choices == {"measure": ["AP"]} for entry in states.values())
    again.close()


def test_a_folder_has_one_server(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(InputError, match="another server"):
        Store(tmp_path)
    store.close()


def test_a_copy_outlives_what_it_was_made_from(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = store.create_entry()
    (store.input_folder(first.id) / "runs").mkdir()
    (store.input_folder(first.id) / "runs" / "a.run").write_text("x")
    second = store.copy_entry(first, "calibrate")
    store.delete_entry(first.id)
    assert store.find_entry(first.id) is None
    assert not store.entry_folder(first.id).exists()
    assert (store.input_folder(second.id) / "runs" / "a.run").read_text() == "x"
    store.close()


@pytest.mark.parametrize("given", [
    {"corpus": "/etc/passwd"}, {"corpus": "names.txt"}, {"human": "/etc/passwd"}, {"human": "../x"},
    {"report": "x.html"}, {"out": "x"}, {"inputs": ["/etc/x"]},
    {"measure": {"a": 1}}, {"measure": ["x"] * 1000}, {"measure": "x" * 1000}, [], "x", None,
])  # fmt: skip
def test_choices_name_no_files_and_have_limits(given: Any) -> None:
    with pytest.raises(InputError):
        validate_choices(given, "compare")


def test_a_form_says_what_was_changed() -> None:
    reading = {
        "columns": [
            {"name": "q", "role": "item"},
            {"name": "m", "role": "system"},
            {"name": "x", "role": "score"},
        ]
    }
    same = [("role", "item"), ("role", "system"), ("role", "score"), ("generalize", ""), ("versus", "all")]
    assert from_form([*same, ("baseline", "bm25"), ("alpha", "")], reading, "compare") == {}
    other = [
        ("role", "system"),
        ("role", "item"),
        ("role", "score"),
        ("measure", "AP; P@10"),
        ("versus", "baseline"),
    ]
    assert from_form([*other, ("baseline", "bm25")], reading, "compare") == {
        "columns": ["system=q", "item=m", "score=x"], "measure": ["AP", "P@10"], "baseline": ["bm25"],
    }  # fmt: skip
    with pytest.raises(InputError, match="no baseline is chosen"):
        from_form([*other, ("baseline", "")], reading, "compare")
    numbers = [("alpha", "0.1"), ("seed", " 3 "), ("calibration", "20"), ("depth", "")]
    assert from_form(numbers, reading, "compare") == {"alpha": ["0.1"], "seed": ["3"], "calibration": ["20"]}
    for name, value in (("alpha", "x"), ("alpha", "nan"), ("alpha", "1"), ("seed", "-1"), ("seed", "1.0")):
        with pytest.raises(InputError):
            from_form([(name, value)], reading, "compare")


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_runs_are_told_from_judgments(tmp_path: Path) -> None:
    run = "".join(f"{t} Q0 d{k} {k} {9 - k} one\n" for t in (1, 2) for k in range(3))
    folder = written(tmp_path, a__run=run, b__txt=run.replace("one", "two"), judged="1 0 d1 1\n2 0 d2 1\n")
    assert [kind_of(folder / name) for name in ("a.run", "b.txt", "judged")] == ["run", "run", "qrels"]
    found = describe_files(folder, {})
    assert (found["kind"], found["problem"]) == ("runs", "")
    assert [Path(one).name for one in found["inputs"]] == ["judged", "a.run", "b.txt"]
    assert found["systems"] == ["one", "two"]
    (folder / "judged").unlink()
    assert "send the runs with their one qrels file" in describe_files(folder, {})["problem"]


def test_a_table_is_shown_with_its_columns(tmp_path: Path) -> None:
    rows = "".join(
        f"q{k},{m},{s},{(k * 7 + s) % 3 / 2}\n" for k in range(6) for m in ("gpt", "llama") for s in (1, 2)
    )
    folder = written(tmp_path, scores__csv=f"question,model,seed,correct\n{rows}")
    found = describe_files(folder, {})
    assert [one["role"] for one in found["columns"]] == ["item", "system", "instance", "score"]
    assert (found["columns"][0]["samples"], found["columns"][0]["distinct"]) == (["q0", "q1", "q2"], 6)
    assert found["columns"][1]["samples"] == ["gpt", "llama"]
    assert found["sizes"] == ["6 questions", "2 models", "2 seeds"]
    other = describe_files(folder, {"columns": ["item=model,system=question,instance=seed,score=correct"]})
    assert other["sizes"] == ["2 models", "6 questions", "2 seeds"]


def test_what_cannot_be_understood_keeps_its_columns_to_choose_from(tmp_path: Path) -> None:
    folder = written(tmp_path, x__csv="one,other,points\na,x,.1\na,y,.5\nb,x,.3\nb,y,.5\n")
    found = describe_files(folder, {})
    assert "could be items and systems" in found["problem"]
    assert "--" not in found["problem"]
    assert [one["name"] for one in found["columns"]] == ["one", "other", "points"]
    assert describe_files(folder, {"columns": ["item=one,system=other"]})["problem"] == ""


def test_the_plan_has_the_numbers_of_design() -> None:
    plan = PlanForm(topics=50, variance=0.02, min_diff=0.05, systems=10)
    told = compute_figures(plan)
    assert told["now"]["two"] == pytest.approx(
        min_diff_at(n=50, variance=0.02, power=0.8, method="paired-t"), rel=1e-10
    )
    assert told["need"]["all"] == topics_for_power(
        variance=0.02, min_diff=0.05, systems=10, method="moderated"
    )
    varies = {"variance": 0.01, "between_seeds": 0.0009, "within_seeds": 0.0064}
    seeded = PlanForm(topics=50, systems=2, seeds=5, per_answer=1.0, **varies)
    told = compute_figures(seeded)
    assert told["price"] == 50 * 2 * 5
    assert told["now"]["chance"] == seeded.design.power
    more_items, more_repeats, _ = plan_more(seeded.design)
    assert more_items is None
    assert told["need"] == {"topics": None, "seeds": more_repeats and more_repeats.repeats}
    assert "No number of topics is enough with 5 seeds." in told["sentences"]


@given(
    st.dictionaries(
        st.sampled_from(["topics", "seeds", "alpha", "variance", "min_diff", "source"]), st.text(max_size=12)
    )
)
def test_no_query_breaks_a_plan(query: dict[str, str]) -> None:
    plan = PlanForm.parse_query(query)
    assert 2 <= plan.topics <= 100_000
    assert 0 < plan.alpha < 0.5


def reported(means: dict[str, float], p: float) -> dict[str, Any]:
    names = sorted(means, key=lambda name: -means[name])
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    return {
        "systems": [{"system": n, "rank": k + 1, "mean": means[n]} for k, n in enumerate(names)],
        "claims": [{"key": "like", "leads": True, "alpha": 0.05}],
        "pairs": {
            "like": {
                "a": [i for i, _ in pairs],
                "b": [j for _, j in pairs],
                "difference": [means[names[i]] - means[names[j]] for i, j in pairs],
                "p_adjusted": [p] * len(pairs),
            }
        },
        "configuration": {"alpha": 0.05, "measure": "AP", "scores_sha256": str(means)},
    }


def test_two_reports_are_held_against_each_other() -> None:
    a, b = reported({"x": 0.5, "y": 0.3, "z": 0.1}, 0.01), reported({"x": 0.2, "y": 0.3, "w": 0.1}, 0.01)
    found = compare_reports(a, b)
    assert found["pairs"] == 1
    assert found["changed"] == [("x", "y", "better", "worse")]
    assert found["reversed"] == 1
    assert found["only"] == (["z"], ["w"])
    assert (found["gained"], found["lost"]) == (0, 0)
    assert found["sentences"] == [
        "1 of 1 pair compared in both analyses changed: 1 significant in opposite directions.",
        "The mean changed for 1 of 2 systems in both.",
    ]
    (y, x) = found["systems"]
    assert (y["name"], y["places"], y["moved"], y["change"]) == ("y", (2, 1), 1, "0")
    assert (x["name"], x["places"], x["moved"], x["change"]) == ("x", (1, 2), -1, "−0.300")
    assert (x["means"], x["ranks"]) == (("0.500", "0.200"), ("–", "–"))
    same = compare_reports(a, a)
    assert (same["changed"], same["same_scores"]) == ([], True)
    assert same["sentences"] == [
        "Same conclusions: all 3 pairs compared in both analyses are judged alike.",
        "Both used the same scores.",
    ]
    tied = compare_reports(a, reported({"x": 0.5, "y": 0.3, "z": 0.1}, 0.5))
    assert (tied["lost"], tied["gained"], len(tied["changed"])) == (3, 0, 3)
    # a report of hundreds of systems does not list its pairs
    many = compare_reports(a, {**b, "pairs": {"like": None}})
    assert (many["pairs"], many["sentences"][0].startswith("The systems have too many pairs")) == (0, True)
    assert len(many["systems"]) == 2


def test_the_worker_and_the_page_plan_from_the_same_analysis(tmp_path: Path) -> None:
    """Words, sizes, variances and repeats of an analysis are those of its plan; the curve goes through its point."""
    with EXAMPLES["models"].open_path() as path:
        found = analyze(path)
    source = {"id": "a", "title": "t", **(describe_plan(found) or {})}
    plan = PlanForm.parse_query({"source": "a"}, [source])
    assert (plan.topics, plan.systems, plan.seeds, plan.present) == (60, 3, 3, 60)
    assert (plan.name_many("topic"), plan.name_many("system"), plan.name_many("instance")) == (
        "questions", "models", "seeds",
    )  # fmt: skip
    assert found.repeats is not None
    assert found.repeats.components is not None
    parts = found.repeats.components
    assert plan.variance == pytest.approx(parts.variance("topic:system"), rel=0.01)
    assert plan.between_seeds == pytest.approx(parts.variance("system:instance"), rel=0.01)
    figures = compute_figures(plan)
    assert figures["sentences"][0].startswith("60 questions with 3 seeds each detect a difference of")
    curve = figures["curve"]
    assert curve["now"][2] == pytest.approx(figures["now"]["chance"])
    assert curve["present"] is None
    assert f"{curve['now'][0]},{curve['now'][1]}" in curve["line"].split()
    # what is said beside it stays, and the present point is shown once the plan leaves it
    more = PlanForm.parse_query({"source": "a", "topics": "120", "variance": "0.5"}, [source])
    assert (more.topics, more.variance, more.seeds) == (120, 0.5, 3)
    assert compute_figures(more)["curve"]["present"][2] < compute_figures(more)["curve"]["now"][2]


def test_a_plan_without_seeds_draws_the_power_of_design() -> None:
    plan = PlanForm(topics=50, variance=0.02, min_diff=0.05, systems=10)
    figures = compute_figures(plan)
    assert figures["curve"]["now"][2] == pytest.approx(figures["now"]["chance"])
    assert figures["curve"]["now"][2] == pytest.approx(
        float(power_at(n=50, variance=0.02, min_diff=0.05, systems=10, method="moderated"))
    )


def calibrated(status: str, **fields: Any) -> Calibration:
    """A calibration in which the default method fares so."""
    claim, names = "new topics like these", ("moderated", "moderated holm", "t none")
    rates = {"holds": 0.03, "unclear": 0.06, "fails": 0.12}
    rows = [
        {
            "claim": claim, "method": name, "error_rate": error_rate, "meant": meant, "rate": rate, "low": rate / 2,
            "high": rate * 2, "null": "vine", "status": state, "coverage": 0.95, "coverage_low": 0.9,
            "coverage_high": 0.99, "coverage_null": "resample", "intervals": "holds", "power": 0.5, "power_low": 0.4,
            "power_high": 0.6, "level": 0.02, "level_low": 0.01, "level_high": 0.03,
        }
        for name, error_rate, meant, rate, state in (
            (names[0], "family", True, rates[status], status),
            (names[1], "family", True, 0.04, "holds"),
            (names[2], "pair", False, 0.3, "fails"),
        )
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    methods = [parse_procedure(name) for name in names]
    verdict = judge_methods(Claim("topic"), table, methods, ("topic", "system"), 0.05)
    return Calibration(
        table, table, table, (verdict,), 0.05, 400, 400, 0, "tables like these (50 topics)", **fields
    )


@pytest.mark.parametrize(("status", "verdict", "sentence"), [
    ("holds", "The default method (moderated paired t-test) is valid", "within"),
    ("unclear", "No evidence against the default method (moderated paired t-test)", "More simulated data sets"),
    ("fails", "The default method (moderated paired t-test) gives too many false alarms", "moderated holm instead"),
])  # fmt: skip
def test_a_calibration_has_one_verdict_and_one_chart(status: str, verdict: str, sentence: str) -> None:
    lab = calibrated(status, notes=("scenario 'tilt' skipped: too few topics left",))
    page = describe_calibration_page(lab, {"system": "model"})
    (words,) = page["words"]
    assert words["verdict"].startswith(verdict)
    told = " ".join(words["sentences"])
    assert "With equal models, it reports at least one false difference in" in told
    assert sentence in told or status == "holds"
    (chart,) = page["charts"]
    assert [(row["method"], row["default"]) for row in chart["rows"]] == sorted(
        [("moderated", True), ("moderated holm", False)],
        key=lambda row: {"moderated": {"holds": 0.03, "unclear": 0.06, "fails": 0.12}[status]}.get(
            row[0], 0.04
        ),
    )
    assert chart["more"]  # the method that is not made for the claim is in the table
    assert [row[0] for row in page["tables"]["new topics like these"]] == [
        "moderated",
        "moderated holm",
        "t none",
    ]
    unsettled = describe_calibration_page(lab, {}, final=False)
    assert unsettled["words"] == []
    assert {row["shown"] for row in unsettled["charts"][0]["rows"]} == {""}


def test_competing_readings_are_one_object_for_command_and_page(tmp_path: Path) -> None:
    """The page offers the very choices that the command line spells, with what each leads to."""
    rows = [f"{a},{b},{(ord(a) * 7 + ord(b) * 3) % 11 / 10}" for a in "abcdef" for b in "uvwxyz"]
    folder = written(tmp_path, x__csv="\n".join(["one,other,points", *rows]) + "\n")
    found = describe_files(folder, {})
    assert found["problem"].endswith("choose below")
    assert (found["culprit"], len(found["readings"])) == ("x.csv", 2)
    told = shardwise("compare", folder / "x.csv").stderr
    for reading in found["readings"]:
        assert f"--columns {reading['value']}" in told
        again = describe_files(folder, {reading["option"]: [reading["value"]]})
        assert (again["problem"], again["sizes"]) == ("", reading["sizes"])


def test_other_files_of_an_upload_are_read_instead(tmp_path: Path) -> None:
    table = "question,model,score\n" + "".join(f"q{k},{m},{k % 3}\n" for k in range(5) for m in "ab")
    folder = written(tmp_path, good__csv=table, other__csv="x,y\nu,v\n")
    assert describe_files(folder, {})["culprit"] == "other.csv"
    found = describe_files(folder, {"files": ["good.csv"]})
    assert (found["problem"], [file["used"] for file in found["files"]]) == ("", [True, False])
    assert [Path(name).name for name in found["inputs"]] == ["good.csv"]
    assert describe_files(folder, {"files": ["not there.csv"]})["problem"]  # as if nothing was said


def test_votes_are_read_as_votes(tmp_path: Path) -> None:
    rows = "".join(f"a,b,{'model_a' if k % 3 else 'model_b'},q{k}\n" for k in range(9))
    found = describe_files(written(tmp_path, v__csv=f"model_a,model_b,winner,question\n{rows}"), {})
    assert (found["problem"], found["columns"], sorted(found["systems"])) == ("", [], ["a", "b"])


def test_settings_stand_for_options_in_sentences() -> None:
    assert spell_settings("add --repeats samples for more power, or --names file") == (
        "add the setting “Repeats are”: samples for more power, or the setting “Names of systems”: file"
    )
    assert describe_result("pairs-2.csv") == describe_result("pairs.csv") != ""


def test_the_server_is_not_opened_to_others_without_a_secret(tmp_path: Path) -> None:
    told = shardwise("serve", "--port", "0,host=0.0.0.0", "--out", tmp_path)
    assert (told.returncode, "choose a secret with --token" in told.stderr) == (2, True)
    for token, host in (("short", "127.0.0.1"), (TOKEN, "not an address")):
        with pytest.raises(InputError):
            serve(options_of("serve", port=0, host=host, token=token, out=tmp_path))


def test_the_browser_is_opened_with_a_token_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its command can be read by everybody on the machine."""
    opened: list[str] = []
    apps: list[Any] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(
        "threading.Timer", lambda after, work, given: SimpleNamespace(start=lambda: work(*given))
    )

    def run(server: Any, sockets: list[Any]) -> None:
        apps.append(server.config.app)
        sockets[0].close()

    monkeypatch.setattr("uvicorn.Server.run", run)
    for open_ in (True, True, False):
        serve(options_of("serve", port=0, token=TOKEN, out=tmp_path, open=open_))
    assert capsys.readouterr().out.count(f"/?token={TOKEN}\n") == 3
    assert len(set(opened)) == len(opened) == 2
    settings = [app.user_middleware[0].kwargs["settings"] for app in apps]
    assert [address.partition("/?token=")[2] for address in opened] == [item.entry for item in settings[:2]]
    assert all(len(item.entry) >= 32 and TOKEN not in item.entry for item in settings[:2])
    assert settings[2].entry == ""
    assert len({item.root for item in settings}) == 1


def test_pages_hold_no_inline_script_and_nothing_from_elsewhere() -> None:
    from importlib import resources

    pages = [p.name for p in resources.files("shardwise.app").joinpath("templates").iterdir()]
    assert len(pages) > 10
    for name in pages:
        text = read_packaged(name)
        assert "<script>" not in text
        assert " style=" not in text
        assert " onclick" not in text
        assert "http:" not in text.replace("http://www.w3.org", "")
        assert "https:" not in text
        assert "| safe" not in text
        # all below the path that the cookie is for
        assert not re.search(r"""=["']/""", text)


def test_an_archive_made_to_fill_the_disk_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", b"1,2,3\n" * 6_000_000)
    with pytest.raises(InputError, match=r"bomb\.zip: [\d,]+ bytes inflate to over 33,554,432; check where"):
        uploads.unpack_archives(tmp_path, 1 << 30, 10)


def test_the_server_itself_loads_nothing_that_computes() -> None:
    """A server that waits is small: its workers have the numbers."""
    loaded = "import sys, shardwise.app.server; print([m for m in ('numpy', 'pandas', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
