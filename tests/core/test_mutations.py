"""The small faults that the tests should notice can be made in the code as it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bench.mutants import PACKAGE, mutate_text, read_mutations

ROOT = Path(__file__).parents[2]


def test_every_mutation_applies() -> None:
    """Its text stands once in its file, what replaces it is Python, and its tests are there."""
    mutations = read_mutations()
    assert len(mutations) >= 80
    assert max(Counter(mutation[:3] for mutation in mutations).values()) == 1
    for mutation in mutations:
        changed = mutate_text(mutation, (PACKAGE / mutation.file).read_text())
        assert changed is not None, f"move the mutation of {mutation.file} along: {mutation.old!r}"
        if mutation.file.endswith(".py"):
            compile(changed, mutation.file, "exec")
        for test in mutation.tests:
            assert (ROOT / test.partition("::")[0]).exists(), test
