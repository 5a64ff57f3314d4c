"""Values of other evaluation programs on 70 small collections; every difference has a reason."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from other_programs import Difference, Printed, Tally, compare_program, option_of, read_printed
from shardwise.scoring.measures import Measure, parse_measure

COMPLETE = {"missing": "zero", "topics": "judged"}
"""What options called -c do: all judged topics count."""


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    if not (data / "conformance" / "collections").is_dir():
        pytest.skip("no folder conformance among the data")
    return data / "conformance"


def check(tally: Tally, equal: int, **reasons: int) -> None:
    """So many values are equal, and those that differ have these reasons."""
    counts: dict[str, int] = {}
    for difference in tally.differing:
        reason = reason_for(difference)
        assert reason, difference
        counts[reason] = counts.get(reason, 0) + 1
    assert (tally.equal, counts) == (equal, reasons)


def reason_for(difference: Difference) -> str:
    """Why a value differs; empty where there is no known reason."""
    measure, command = difference.measure, difference.command
    if difference.theirs in ("-nan", "nan"):
        return "not_a_number"
    if "-l2" in command and measure == "num_rel" and difference.topic == "all":
        return "number_relevant_under_c_and_l2"
    if "-l2" in command and measure == "Rndcg":
        return "rndcg_under_l2"
    return ""


# --- trec_eval -----------------------------------------------------------------------------------------------


def translate_trec_eval(part: Printed, name: str) -> Measure | None:
    if name in ("runid", "ERROR") or name.startswith("relstring"):
        return None
    measure = parse_measure(name, "trec_eval-10")
    given = {}
    if (level := option_of(part.command, "l")) and any(name == "rel" for name, _ in measure.parameters):
        given["rel"] = level
    if (documents := option_of(part.command, "N")) and name.startswith("utility"):
        given["documents"] = documents
    return add_parameters(measure, given)


def add_parameters(measure: Measure, given: dict[str, str]) -> Measure:
    """The same measure with more parameters."""
    if not given:
        return measure
    call, _, cutoff = str(measure).partition("@")
    inside = ",".join([*filter(None, [call.partition("(")[2][:-1]]), *(f"{k}={v}" for k, v in given.items())])
    return parse_measure(f"{call.partition('(')[0]}({inside})" + (f"@{cutoff}" if cutoff else ""))


def like_trec_eval(part: Printed) -> dict[str, Any]:
    reading: dict[str, Any] = {"like": "trec_eval-10"}
    if " -c" in part.command:
        reading |= COMPLETE
    if " -J" in part.command:
        reading["unjudged"] = "removed"
    if depth := option_of(part.command, "M"):
        reading["depth"] = int(depth)
    return reading


@pytest.mark.full
def test_trec_eval_10(folder: Path) -> None:
    tally = compare_program(folder, read_printed(folder, "trec_eval"), translate_trec_eval, like_trec_eval)
    check(tally, 80426, number_relevant_under_c_and_l2=13, rndcg_under_l2=8, not_a_number=16)


TEN = {f"c{k:02d}" for k in range(1, 11)}


def test_trec_eval_10_on_some_collections(folder: Path) -> None:
    """Ten collections, two of each kind of scores, by all commands."""
    some = [part for part in read_printed(folder, "trec_eval") if part.collection in TEN]
    tally = compare_program(folder, some, translate_trec_eval, like_trec_eval)
    check(tally, 19966, rndcg_under_l2=3, number_relevant_under_c_and_l2=3, not_a_number=3)


# --- the others ----------------------------------------------------------------------------------------------


def ordered_by_score(folder: Path) -> set[str]:
    """Collections whose runs have no ties, not even in single precision."""
    with (folder / "collections.csv").open() as lines:
        return {row["collection"] for row in csv.DictReader(lines) if row["scores"] in ("sorted", "shuffled")}


def test_ir_measures(folder: Path) -> None:
    """Some of its engines order ties by ascending names and in double precision; pytrec_eval, and we, do not."""
    parts = list(read_printed(folder, "ir_measures"))
    tally = compare_program(
        folder,
        parts,
        lambda part, name: parse_measure(name, "ir_measures"),
        lambda part: {"like": "ir_measures"},
    )
    ascending = compare_program(
        folder,
        parts,
        lambda part, name: None if pytrec_eval_computes(name) else parse_measure(name, "ir_measures"),
        lambda part: {"like": "ir_measures", "order": "ascending", "precision": "double"},
    )
    still = {(one.collection, one.topic, one.measure) for one in ascending.differing}
    repeated = {(part.collection, *cell) for part in parts for cell in part.repeated}
    clear = ordered_by_score(folder)
    reasons: dict[str, int] = {}
    for one in tally.differing:
        place = (one.collection, one.topic, one.measure)
        if place in repeated:
            reason = "printed_twice"
        elif one.measure in ("NumRel", "NumQ") and one.theirs == "0":
            reason = "counts_of_topics_that_a_run_lacks"
        elif one.theirs == "nan":
            reason = "not_a_number"
        else:
            assert one.collection not in clear, one
            assert not pytrec_eval_computes(one.measure), one
            reason = "ties_in_file_order" if place in still else "ties_by_ascending_names"
        reasons[reason] = reasons.get(reason, 0) + 1
    assert tally.equal == 8443
    assert reasons == {
        "counts_of_topics_that_a_run_lacks": 26,
        "ties_by_ascending_names": 170,
        "ties_in_file_order": 1,
        "printed_twice": 39,
        "not_a_number": 1,
    }


def pytrec_eval_computes(measure: str) -> bool:
    """Whether ir_measures asks pytrec_eval for a measure, whose order of ties is ours."""
    others = r"RR.*@|Judged|RBP|INS[TQ]|BPM|SDCG|NERR|.*ERR|.*RBP|alpha|AP_IA|P_IA|StRecall|Compat|Accuracy|.*exp-log2"
    return re.match(others, measure) is None


def test_ranx(folder: Path) -> None:
    tally = compare_program(
        folder,
        read_printed(folder, "ranx"),
        lambda part, name: parse_measure(name, "ranx"),
        lambda part: {"like": "ranx"},
    )
    check(tally, 2241, not_a_number=2)


def test_gdeval(folder: Path) -> None:
    tally = compare_program(
        folder,
        read_printed(folder, "gdeval"),
        lambda part, name: parse_measure(name, "gdeval"),
        lambda part: {"like": "gdeval"} | (COMPLETE if " -c" in part.command else {}),
    )
    check(tally, 1288)


def translate_ndeval(part: Printed, name: str) -> Measure:
    measure = parse_measure(name, "ndeval")
    wanted = {"alpha": option_of(part.command, "alpha"), "beta": option_of(part.command, "beta")}
    held = {key for key, _ in measure.parameters}
    return add_parameters(measure, {key: value for key, value in wanted.items() if value and key in held})


def like_ndeval(part: Printed) -> dict[str, Any]:
    reading = {"like": "ndeval"} | (COMPLETE if " -c" in part.command else {})
    return reading | ({"order": "score"} if "-traditional" in part.command else {})


def test_ndeval(folder: Path) -> None:
    tally = compare_program(folder, read_printed(folder, "ndeval"), translate_ndeval, like_ndeval)
    check(tally, 6290, not_a_number=10)


def translate_sample_eval(part: Printed, name: str) -> Measure:
    video = {"infAP": "xinfAP(norm='min')@1000", "infNDCG": "infNDCG(ideal='fractional')@1000"}
    if part.version.startswith("TRECVID") and name in video:
        return parse_measure(video[name])
    return parse_measure(name, "sample_eval")


def test_sample_eval(folder: Path) -> None:
    """NIST's version for TREC, and that of TRECVID, which divides otherwise."""
    tally = compare_program(
        folder,
        read_printed(folder, "sample_eval"),
        translate_sample_eval,
        lambda part: {"like": "sample_eval"},
    )
    check(tally, 1474)


def translate_ntcireval(part: Printed, name: str) -> Measure:
    """The name with the gains of -g, and beta where NTCIREVAL uses it."""
    gains = [int(gain) for gain in str(option_of(part.command, "g")).split(":")]
    beta = str(option_of(part.command, "-beta"))
    head, _, cutoff = name.partition("@")
    levels = ",".join(f"{grade}:{gain}" for grade, gain in enumerate(gains, 1))
    inside: list[str] = []
    if head == "RBP":
        inside = ["gains={" + ",".join(f"{g}:{gain / gains[-1]}" for g, gain in enumerate(gains, 1)) + "}"]
    elif head not in ("RR", "AP", "Precision", "Hit"):
        inside = [f"gains={{{levels}}}"]
    if head in ("OMeasure", "PMeasure", "PPlusMeasure", "QMeasure", "NCUguBR", "NCUrbBR"):
        inside.append(f"beta={beta}")
    if head in ("ERR", "nERR"):
        inside.append(f"max_rel={gains[-1]}")
    if head.startswith("NCUgu"):
        inside.append(f"stops={{{levels}}}")
    call = head + (f"({','.join(inside)})" if inside else "")
    return parse_measure(call + (f"@{cutoff}" if cutoff else ""), "NTCIREVAL")


def test_ntcireval(folder: Path) -> None:
    tally = compare_program(
        folder, read_printed(folder, "ntcireval"), translate_ntcireval, lambda part: {"like": "NTCIREVAL"}
    )
    check(tally, 5148)


def test_cwl_eval(folder: Path) -> None:
    """All five columns of all users; a gain is the grade over the highest grade of the collection."""
    with (folder / "collections.csv").open() as lines:
        top = {row["collection"]: row["top_grade"] for row in csv.DictReader(lines)}

    def translate(part: Printed, name: str) -> Measure:
        user, _, column = name.rpartition(" ")
        return parse_measure(f"{user.strip()}(max_rel={top[part.collection]}) {column}", "cwl_eval")

    tally = compare_program(
        folder, read_printed(folder, "cwl_eval"), translate, lambda part: {"like": "cwl_eval"}
    )
    check(tally, 4290)
