"""Models are data: terms, names, formulas, and what is refused."""

from __future__ import annotations

import pytest

from shardwise.core.errors import InputError
from shardwise.core.model import MD1, MD2, MD3, MD4, MD5, MD6, NAMED, Model, format_term


def test_the_six_models_grow_one_term_at_a_time() -> None:
    # F19 §3.1
    added = ["topic:system", "shard", "system:shard", "topic:shard"]
    assert MD1.terms == MD2.terms == ("topic", "system")
    for smaller, larger, term in zip((MD2, MD3, MD4, MD5), (MD3, MD4, MD5, MD6), added, strict=True):
        assert larger.terms == (*smaller.terms, term)
    assert MD1 != MD2
    assert list(NAMED) == ["MD1", "MD2", "MD3", "MD4", "MD5", "MD6"]
    assert MD6.title == "MD6: topic + system + topic:system + shard + system:shard + topic:shard"


@pytest.mark.parametrize("model", NAMED.values(), ids=lambda model: model.name)
def test_what_is_written_reads_back(model: Model) -> None:
    assert Model.parse(str(model)).terms == model.terms
    assert Model.parse(model.name.lower()) is model


def test_formulas() -> None:
    assert Model.parse("topic * system").terms == ("topic", "system", "topic:system")
    assert Model.parse("topic + system+system : topic").terms == ("topic", "system", "topic:system")
    three = Model.parse("a*b*c")
    assert set(three.terms) == {"a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"}
    assert three.dimensions == ("a", "b", "c")
    assert Model.of("user", "system").dimensions == ("system", "user")
    assert three.short == str(three) == three.title
    assert format_term(frozenset({"shard", "run", "topic"})) == "topic:shard:run"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("topic:system", r"has topic:system but not system and topic.*add system \+ topic"),
        ("topic + topic:system", "but not system"),
        ("a*b + c + a:b:c", "but not a:c and b:c"),
        ("topic - system", "cannot read 'topic - system'"),
        ("topic + ", "cannot read ''"),
        ("", "cannot read ''"),
    ],
)
def test_formulas_that_are_refused(formula: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Model.parse(formula)


def test_terms_that_are_refused() -> None:
    with pytest.raises(InputError, match="no terms"):
        Model.of()
    with pytest.raises(InputError, match="names topic twice"):
        Model.of("topic", "topic")
    with pytest.raises(InputError, match="'to pic' is not a term"):
        Model.of("to pic")
