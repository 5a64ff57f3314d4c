"""When to stop repeating: looks at the figures that do not eat up what an interval promises.

Tables are drawn in batches, each as large as all before it, and the figures are looked at after each. Whoever looks K
times at W worlds, and stops when an interval says something clear, has K·W chances of being misled; so each interval is
that of Clopper and Pearson with a tail of 2.5 % / (K·W). By Bonferroni's inequality all of them hold together with
95 %, whenever one stops (repeated confidence intervals: Jennison & Turnbull 1989).
"""

from __future__ import annotations

from shardwise.core.arguments import validate_count
from shardwise.core.errors import InputError
from shardwise.lab.error_counts import TAIL

BUDGET = 2_000  # tables of a world, where nothing is said
FIRST = 100  # tables before the first look, at least
LEAST = 10
SLACK = (
    1.1  # approximations such as Satterthwaite's may err by a tenth of the level without being called wrong
)
TOLERANCE = 1.5  # a rate is taken to hold if its interval ends below one and a half of the level


def looks(repetitions: int | None, budget: int | None) -> tuple[int, ...]:
    """Numbers of tables of a world after which the figures are looked at; a single look at a number that was asked for.

    Parameters
    ----------
    repetitions
        Tables to draw, however clear the figures are.
    budget
        Tables to draw at most, where ``repetitions`` is None.

    >>> looks(None, 1000), looks(30, None)
    ((125, 250, 500, 1000), (30,))
    """
    if repetitions is not None and budget is not None:
        raise InputError(
            "a number of repetitions and a budget at once", remedy="give one of them", argument="budget"
        )
    given = (
        {"budget": BUDGET if budget is None else budget}
        if repetitions is None
        else {"repetitions": repetitions}
    )
    ((name, most),) = given.items()
    if validate_count(most, name, least=0) < LEAST:
        raise InputError(f"{most} repetitions say nothing", remedy="use 200 or more")
    found = [most]
    while repetitions is None and found[0] >= 2 * FIRST:
        found.insert(0, -(-found[0] // 2))
    return tuple(found)


def tail(n_looks: int, worlds: int) -> float:
    """Tail of each interval, so that those of all looks and worlds hold together.

    >>> tail(4, 5)
    0.00125
    """
    return TAIL / (n_looks * worlds)


def status(low: float, high: float, alpha: float) -> str:
    """What the interval of an error rate shows: that it holds the level, that it fails, or neither.

    Parameters
    ----------
    low, high
        Ends of the interval; NaN where there is no figure.
    alpha
        The level that is promised.

    >>> status(.04, .064, .05), status(.02, .11, .05), status(.06, .09, .05)
    ('holds', 'unclear', 'fails')
    """
    if low > SLACK * alpha:
        return "fails"
    return "holds" if high <= TOLERANCE * alpha else "unclear"
