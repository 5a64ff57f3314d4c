"""Names of measures parse back, whatever way they are spelled."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwise.core.errors import InputError
from shardwise.scoring.measures import Measure, parse_measure
from shardwise.scoring.measures.definitions import DEFINITIONS, Definition, MeasureParameter
from shardwise.scoring.measures.names import expand_measure
from shardwise.scoring.measures.tools import TOOLS


@pytest.mark.parametrize(
    ("spelled", "canonical"),
    [
        ("AP", "AP"),
        ("map", "AP"),
        ("MAP", "AP"),
        ("MAP@100", "AP@100"),
        ("map_cut_100", "AP@100"),
        ("map_cut.100", "AP@100"),
        ("AP(rel=1)", "AP"),
        ("AP( rel = 2 )@ 100", "AP(rel=2)@100"),
        ("P_10", "P@10"),
        ("precision@5", "P@5"),
        ("P(rel=2)@10", "P(rel=2)@10"),
        ("recall_1000", "R@1000"),
        ("recip_rank", "RR"),
        ("MRR@10", "RR@10"),
        ("ndcg", "nDCG"),
        ("NDCG@10", "nDCG@10"),
        ("ndcg_cut_20", "nDCG@20"),
        ('nDCG(dcg="exp-log2")@20', "nDCG(dcg='exp-log2')@20"),
        ("nDCG(dcg='log2')", "nDCG"),
        ("nDCG(base=10.0)", "nDCG(base=10)"),
        ("nDCG(gains={2:3, 0:0, 1:1.0})@10", "nDCG(gains={0:0,1:1,2:3})@10"),
        ("nDCG(gains={0:0,1:1})", "nDCG"),
        ("RBP", "RBP(p=0.8)"),
        ("RBP(rel=2,p=.5)", "RBP(p=0.5,rel=2)"),
        ("err@20", "ERR@20"),
        ("bpref", "Bpref"),
        ("RPrec", "Rprec"),
        ("success_10", "Success@10"),
        ("num_rel_ret", "NumRelRet"),
        ("NumRet(rel=2)", "NumRelRet(rel=2)"),
        (ir_measures.nDCG(dcg="exp-log2") @ 20, "nDCG(dcg='exp-log2')@20"),
        (ir_measures.RBP(p=0.5, rel=1), "RBP(p=0.5)"),
        (ir_measures.NumRelRet, "NumRelRet"),
        (ir_measures.BPref, "Bpref"),
        (ir_measures.alpha_nDCG @ 10, "alpha_nDCG@10"),
        (ir_measures.nERR_IA(rel=2) @ 20, "nERR_IA(rel=2)@20"),
        ("α-nDCG@10", "alpha_nDCG@10"),
        ("ERR-IA@20", "ERR_IA@20"),
        ("D-nDCG@10", "D_nDCG@10"),
        ("D♯-nDCG@10", "Dsharp_nDCG@10"),
        ("I-rec@10", "StRecall@10"),
        ("Q-measure@10", "Q@10"),
        ("Q(beta=1.0)", "Q"),
        ("MSnDCG@10", "nDCG(dcg='exp-log2')@10"),
        ("rbp.95", "RBP(p=0.95,scale='none')"),
        ("rbp", "RBP(p=0.9,scale='topic')"),
        ("AP@0010", "AP(norm='min')@10"),
        ("set_F.0.5", "SetF(beta=0.5)"),
        ("hit_rate@5", "Success@5"),
        ("f1@5", "F@5"),
        ("11pt_avg", "IAP"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("trec_eval-10:iprec_at_recall_0.10", "IPrec(reach='nearest')@0.1"),
        ("ndcg.1=3,2=9", "nDCG(gains={1:3,2:9})"),
        ("gdeval:ndcg@20", "nDCG(dcg='exp-log2')@20"),
        ("ranx:ndcg@20", "nDCG@20"),
        ("SetP(relative=True,rel=2)", "SetRelP(rel=2)"),
        ("AP(judged_only=True)", "AP(judged_only=True)"),
        ("INST-T=2.0 ETU", "INST(T=2,max_rel=1,value='ETU')"),
        ("AP(norm='min')@10", "AP(norm='min')@10"),
        ("xinfNDCG@100", "infNDCG@100"),
    ],
)
def test_spellings(spelled: object, canonical: str) -> None:
    assert str(parse_measure(spelled)) == canonical


def values_of(parameter: MeasureParameter) -> st.SearchStrategy[Any]:
    grades = st.integers(-5, 5)
    return {
        "grade": grades,
        "share": st.floats(0.001, 0.999),
        "fraction": st.floats(0, 1),
        "weight": st.integers(0, 9) | st.floats(0, 50),
        "base": st.integers(2, 20) | st.floats(1.001, 50),
        "number": st.integers(-9, 9) | st.floats(-50, 50),
        "positive": st.integers(1, 9) | st.floats(0.001, 50),
        "flag": st.booleans(),
        "points": st.lists(st.floats(0, 1), min_size=1, max_size=3).map(tuple),
        "choice": st.sampled_from(parameter.choices or ("",)),
        "gains": st.dictionaries(grades, st.integers(0, 9) | st.floats(0, 9), min_size=1),
    }[parameter.kind]


@st.composite
def names(draw: st.DrawFn) -> tuple[Definition, dict[str, Any], float | None]:
    definition = draw(st.sampled_from(DEFINITIONS))
    given_values = {
        parameter.name: draw(values_of(parameter))
        for parameter in definition.parameters
        if draw(st.booleans())
    }
    if "gains" in given_values:
        given_values.pop("rel", None)
    if "min_rel" in given_values:
        given_values["max_rel"] = given_values["min_rel"] + 3
    elif "max_rel" in given_values:
        given_values["max_rel"] = abs(given_values["max_rel"]) + 1
    cutoff: float | None = None
    if definition.cutoff == "recall":
        cutoff = draw(st.sampled_from([0.0, 0.1, 0.25, 1.0]))
    if definition.cutoff == "required" or (definition.cutoff == "optional" and draw(st.booleans())):
        cutoff = draw(st.integers(1, 10_000))
    return definition, given_values, cutoff


@given(names())
def test_names_parse_back(drawn: tuple[Definition, dict[str, Any], float | None]) -> None:
    definition, parameters, cutoff = drawn
    inside = ", ".join(f"{name} = {value!r}" for name, value in parameters.items())
    measure = parse_measure(f"{definition.name}({inside})" + ("" if cutoff is None else f"@{cutoff}"))
    assert (measure.definition, measure.cutoff) == (definition, cutoff)
    again = parse_measure(str(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert str(again) == str(measure)
    assert isinstance(measure, Measure)
    assert parse_measure(measure) is measure
    # small letters are understood unless another program means something else by them
    with contextlib.suppress(InputError):
        assert parse_measure(_lower_head(measure)) == measure


def _lower_head(measure: Measure) -> str:
    name = measure.definition.name
    return name.lower() + str(measure).removeprefix(name)


@pytest.mark.parametrize(
    ("spelled", "said"),
    [
        ("nDGC@10", r"unknown measure 'nDGC@10'; did you mean nDCG\?"),
        ("xyzzy", "unknown measure 'xyzzy'; known: AP"),
        ("P", "needs a cutoff; write P@10"),
        ("Bpref@10", "Bpref has no cutoff; write Bpref"),
        ("P@0", "cutoff 0 is not a rank"),
        ("P@ten", "not of the form"),
        ("AP(q=1)", "AP has no parameter 'q'; it takes rel"),
        ("NumRel(q=1)", "NumRel has no parameter 'q'; it takes rel"),
        ("NumQ(q=1)", "NumQ has no parameter 'q'; it takes no parameters"),
        (
            "ndcg@10",
            r"'ndcg@10' has 2 meanings: nDCG@10 \(ranx\), nDCG\(dcg='exp-log2'\)@10 \(gdeval\); write one",
        ),
        ("ap@10", "'ap@10' has 2 meanings: "),
        ("recall", "has 2 meanings"),
        ("runid", "is a text, not a number; leave it out"),
        ("prefs_simp", "needs preference judgments"),
        ("trec_eval:P", "names 9 measures; choose one, such as P@5"),
        ("IPrec", "needs a level of recall; write IPrec@0.1"),
        ("IPrec@2", "2 is not a level of recall"),
        ("INST(min_rel=2,max_rel=2)", "min_rel is not below max_rel"),
        ("ranx:xyzzy", "ranx has no measure 'xyzzy'"),
        ("AP(2)", "cannot read the parameters"),
        ("AP(rel=__import__('os'))", "cannot read the parameters"),
        ("AP(rel=1.5)", "rel is 1.5; it must be a whole number"),
        ("alpha_nDCG", "needs a cutoff; write alpha_nDCG@10"),
        ("alpha_nDCG(alpha=1.5)@10", "alpha is 1.5; it must be a number from 0 to 1"),
        ("Q(beta=-1)", "beta is -1; it must be a number of 0 or more"),
        ("RBP(p=1)", "p is 1; it must be a number between 0 and 1"),
        ("nDCG(base=1)", "base is 1; it must be a number above 1"),
        ("nDCG(dcg='log')", "dcg is 'log'; it must be 'log2' or 'exp-log2'"),
        ("nDCG(gains={1:-1})", "gains is .*; it must be a mapping"),
        ("RBP(rel=2,gains={1:1})", "rel and gains exclude each other"),
        ("", "not of the form"),
    ],
)
def test_errors_teach(spelled: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_measure(spelled)


def test_every_measure_says_what_it_is() -> None:
    for definition in DEFINITIONS:
        assert len(definition.text) > 20
        assert definition.cite
    assert len({definition.name.lower() for definition in DEFINITIONS}) == len(DEFINITIONS)


def test_the_page_has_the_same_definitions() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "measures.md").read_text()
    for definition in DEFINITIONS:
        assert f"| `{definition.name}` | {definition.text} | {definition.cite} |" in page


PIECES = [
    *(
        "map",
        "P",
        "ndcg",
        "rbp",
        "recall",
        "AP",
        "nDCG",
        "RBP",
        "IPrec",
        "11pt_avg",
        "utility",
        "cwl_eval:",
        "ranx:",
    ),
    *(
        "_",
        ".",
        "@",
        "-l",
        "(",
        ")",
        "=",
        ",",
        "1",
        "0",
        "10",
        "0.5",
        "-1",
        "p=",
        "gains={1:",
        "}",
        "rel=",
        " ",
        "#",
    ),
    *(
        "iprec@rec",
        "QMeasure",
        "BPM-Static-T=",
        "-K=",
        "EU",
        "INST-T=",
        "9" * 20,
        "e5",
        "inf",
        "nan",
        "²",
        "٣",
        "é",
    ),
]
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=20)


@given(texts, st.sampled_from([None, *TOOLS]))
def test_any_text_is_understood_or_refused(text: str, tool: str | None) -> None:
    with contextlib.suppress(InputError):
        for measure in expand_measure(text, tool):
            assert parse_measure(str(measure)) == measure
