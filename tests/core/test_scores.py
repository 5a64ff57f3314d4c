"""Scores keep all that is known of them, whatever is done to them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import shardwise as sw
from shardwise.core.claim import DIMENSIONS
from shardwise.core.measure import MeasureFacts
from shardwise.core.scores import Scores, as_scores, join_systems, lie_along

Draw = Callable[..., Any]


def name_levels(prefix: str, n: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{k}" for k in range(n))


def make_scores(sizes: dict[str, int], seed: int, share: float = 0.1) -> Scores:
    """Scores of which every field says something."""
    rng = np.random.default_rng(seed)
    dims = tuple(dim for dim in DIMENSIONS if dim in sizes)
    values = rng.random([sizes[dim] for dim in dims])
    values[rng.random(values.shape) < share] = np.nan
    topics, systems = sizes["topic"], sizes["system"]

    def draw_labels(n: int) -> Any:
        return np.array([f"l{k}" for k in rng.integers(0, 3, n)], dtype=object)

    return Scores(
        values,
        dims,
        {dim: name_levels(dim, sizes[dim]) for dim in dims},
        measure=MeasureFacts("wer", (0.0, 2.0), True, "declared", "declared"),
        nouns={"topic": "utterance", "cluster": "speaker"},
        clusters=draw_labels(topics),
        tasks=draw_labels(topics),
        people=rng.random((topics, systems)),
        deterministic=rng.random(systems) < 0.5,
        slices={"country": draw_labels(topics), "device": draw_labels(topics)},
        marks={"vendor": ("system", draw_labels(systems))},
        repeats="samples",
        averaged="these 3 seeds",
        votes=object(),
        unit_df=3.0,
        unit_scale=0.25,
        unit_scope=" in rooms like these",
        bounded=object(),
        undefined=2,
        read_as="read as a table",
        facts={"source": "a file"},
    )


@st.composite
def scores(draw: Draw) -> Scores:
    sizes = {"topic": draw(st.integers(1, 6)), "system": draw(st.integers(1, 4))}
    for dim in ("split", "shard", "instance"):
        if draw(st.booleans()):
            sizes[dim] = draw(st.integers(1, 3))
    return make_scores(sizes, draw(st.integers(0, 1000)), draw(st.sampled_from([0.0, 0.2])))


OPERATIONS: dict[str, Callable[[Scores], Scores]] = {
    "select topics": lambda s: s.select(topic=np.arange(s.sizes["topic"])[::-1]),
    "select by flags": lambda s: s.select(topic=np.ones(s.sizes["topic"], dtype=bool)),
    "select systems": lambda s: s.select_systems(s.systems[::-1]),
    "average the others": lambda s: s.mean(*s.others),
    "average topics": lambda s: s.mean("topic"),
    "one system": lambda s: s.select(system=0),
    "other values": lambda s: s.with_values(s.values / 2.0),
    "order": lambda s: s.order_dims(),
    "turn": lambda s: s.turn(),
    "declare": lambda s: s.declare(range=(0, 3)),
    "the gate": as_scores,
    "to xarray and back": lambda s: as_scores(s.to_xarray(), needs=()),
}
ALONG = {each.name: each.metadata["along"] for each in fields(Scores) if "along" in each.metadata}


@pytest.mark.parametrize("name", OPERATIONS)
@given(scores())
def test_no_operation_loses_a_field(name: str, table: Scores) -> None:
    made = OPERATIONS[name](table)
    gone = set(table.dims) - set(made.dims)
    expected = {"values", "dims", "labels", "measure", *ALONG}
    for each in fields(Scores):
        if each.name not in expected:
            assert getattr(made, each.name) == getattr(table, each.name), each.name
    for field_name, along in ALONG.items():
        kept, before = getattr(made, field_name), getattr(table, field_name)
        if set(along) & gone:
            assert not kept, field_name
        elif field_name == "marks":
            assert kept.keys() == {mark for mark, (dim, _) in before.items() if dim not in gone}
        elif isinstance(before, dict):
            assert kept.keys() == before.keys()
        else:
            assert kept is not None, field_name
            assert kept.shape == tuple(made.sizes[dim] for dim in along)
    assert made.measure.name == "wer"
    assert made.measure.direction_from == "declared"


@given(scores(), st.randoms())
def test_what_lies_along_a_dimension_goes_with_its_levels(table: Scores, random: Any) -> None:
    places = [random.randrange(table.sizes["topic"]) for _ in range(3)]
    made = table.select(topic=places)
    assert made.topics == tuple(table.topics[k] for k in places)
    np.testing.assert_array_equal(made.people, table.people[places])  # type: ignore[index]
    for known, before in ((made.clusters, table.clusters), (made.tasks, table.tasks)):
        assert known is not None
        assert before is not None
        assert known.tolist() == before[places].tolist()
    for name in table.slices:
        assert made.slices[name].tolist() == table.slices[name][places].tolist()
    np.testing.assert_array_equal(made.marks["vendor"][1], table.marks["vendor"][1])


@given(scores())
def test_xarray_is_a_round_trip(table: Scores) -> None:
    array = table.to_xarray()
    assert isinstance(array, xr.DataArray)
    assert as_scores(array) == table
    assert as_scores(array.transpose(*reversed(array.dims))) == table


@given(scores(), st.sampled_from([each.name for each in fields(Scores)]))
def test_scores_that_differ_in_a_field_are_not_equal(table: Scores, name: str) -> None:
    value = getattr(table, name)
    others: dict[str, Any] = {
        "values": table.values + 1.0,
        "dims": None,
        "labels": {**table.labels, "topic": tuple(f"other {topic}" for topic in table.topics)},
        "measure": replace(table.measure, lower_is_better=False),
        "marks": {},
        "undefined": 3,
        "unit_df": 4.0,
        "unit_scale": 0.5,
        "votes": object(),
        "bounded": object(),
    }
    changed = others.get(name, {} if isinstance(value, dict) else "" if isinstance(value, str) else None)
    if name != "dims":
        assert replace(table, **{name: changed}) != table
    assert replace(table) == table


@given(scores())
def test_frames_hold_every_score_that_is_there(table: Scores) -> None:
    frame = table.to_frame()
    assert len(frame) == int(np.isfinite(table.values).sum())
    assert list(frame.columns) == [{"topic": "utterance"}.get(dim, dim) for dim in table.dims] + ["wer"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AgedScores(Scores):
    """Scores with one more array, which is said in one place."""

    ages: Any = field(default=None, metadata=lie_along("topic", coordinate="ages"))


def test_a_new_array_is_kept_by_saying_what_it_lies_along() -> None:
    base = make_scores({"topic": 4, "system": 2, "instance": 2}, 1)
    given_fields = {each.name: getattr(base, each.name) for each in fields(Scores)}
    table = AgedScores(**given_fields, ages=np.array([3.0, 4.0, 5.0, 6.0]))
    made = table.select(topic=[2, 0]).mean("instance").with_values(np.zeros((2, 2))).turn()
    assert isinstance(made, AgedScores)
    assert made.ages.tolist() == [5.0, 3.0]
    assert made.mean("topic").ages is None
    assert made.to_xarray()["ages"].values.tolist() == [5.0, 3.0]
    assert made != replace(made, ages=None)


def test_systems_of_two_tables_are_joined() -> None:
    one = make_scores({"topic": 5, "system": 1}, 1)
    seeds = replace(make_scores({"topic": 5, "system": 2, "instance": 3}, 2), nouns={"instance": "seed"})
    named = replace(seeds, labels={**seeds.labels, "system": ("x", "y")})
    both = join_systems(one, named)
    assert both.sizes == {"topic": 5, "system": 3, "instance": 3}
    assert both.systems == ("system0", "x", "y")
    np.testing.assert_array_equal(both.values[:, 1:], named.values)
    np.testing.assert_array_equal(both.values[:, 0, 0], one.values[:, 0])
    assert np.isnan(both.values[:, 0, 1:]).all()
    assert both.deterministic is not None
    assert both.deterministic.tolist() == [True, False, False]
    assert both.nouns == {"topic": "utterance", "cluster": "speaker", "instance": "seed"}
    assert both.people is not None
    assert both.people.shape == (5, 3)


def test_tasks_as_a_dimension_become_labels_of_topics() -> None:
    y = np.full((2, 3, 2), np.nan)
    y[0, :2], y[1, 2] = [[0.1, 0.2], [0.3, 0.4]], [0.5, 0.6]
    table = xr.DataArray(
        y, dims=("task", "topic", "system"), coords={"task": ["a", "b"], "topic": list("pqr")}
    )
    made = as_scores(table).unstack_tasks()
    assert (made.dims, made.topics) == (("topic", "system"), ("p", "q", "r"))
    assert made.tasks is not None
    assert made.tasks.tolist() == ["a", "a", "b"]
    assert made.values.tolist() == [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]


@pytest.mark.parametrize(
    ("coords", "message"),
    [
        (
            {"cluster": ("system", ["p", "q"])},
            "the coordinate cluster is along system; give every topic its cluster",
        ),
        (
            {"cluster": ("topic", ["p", None, "q"])},
            "some topics have no cluster; give every topic its cluster",
        ),
        ({"human": ("topic", [1.0, 0.0, 1.0])}, "the coordinate human is along topic"),
    ],
)
def test_labels_that_belong_nowhere_are_refused(coords: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        as_scores(xr.DataArray(np.zeros((3, 2)), dims=("topic", "system"), coords=coords))


IMPORTS = """
import sys
import numpy as np
import shardwise as sw

y = np.random.default_rng(0).normal(size=(20, 3))
for method in (None, "t holm", "MD1 hsd topic", "max-t"):
    compared = sw.compare(y, method)
    compared.reject(), compared.limits(), compared.best(), str(compared)
import shardwise.lab.calibrate, shardwise.lab.holdout, shardwise.lab.statements, shardwise.papers
import shardwise.planning.plans, shardwise.planning.pools, shardwise.planning.simulated
print(*(name for name in ("pandas", "xarray", "pyarrow") if name in sys.modules))
"""


def test_comparing_an_array_and_the_rooms_behind_it_load_no_frames() -> None:
    found = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


@pytest.mark.parametrize(
    "lists", [([0.1] * 9 + [0.3], [0.2] * 9 + [0.5]), [[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]]]
)
def test_a_few_long_lists_are_not_taken_for_items(lists: Sequence[Sequence[float]]) -> None:
    with pytest.raises(sw.InputError, match="may be items or systems; name the systems"):
        sw.compare(lists)
    assert len(sw.compare(np.asarray(lists)).names) == len(lists[0])
