"""Group-sequential stopping rule with simultaneous confidence intervals.

Tables are drawn in batches, each as large as all before it, and the figures are looked at after each. Whoever looks K
times at W scenarios, and stops when an interval says something clear, has K·W chances of being misled; so each interval
is that of Clopper and Pearson with a tail of 2.5 % / (K·W). By Bonferroni's inequality all of them hold together with
95 %, whenever one stops (repeated confidence intervals: Jennison & Turnbull 1989).
"""

from __future__ import annotations

from shardwise.core.arguments import validate_count
from shardwise.core.errors import InputError
from shardwise.lab.error_counts import TAIL

BUDGET = 2_000  # tables of a scenario, where nothing is said
FIRST = 100  # tables before the first look, at least
LEAST = 10
SLACK = (
    1.1  # approximations such as Satterthwaite's may err by a tenth of the level without being called wrong
)
TOLERANCE = 1.5  # a rate is taken to hold if its interval ends below one and a half of the level


def plan_looks(repetitions: int | None, budget: int | None) -> tuple[int, ...]:
    """Plan the interim looks: numbers of tables of a scenario, one only where a number was asked for.

    Parameters
    ----------
    repetitions
        Tables to draw, however clear the figures are.
    budget
        Tables to draw at most, where ``repetitions`` is None.

    >>> plan_looks(None, 1000), plan_looks(30, None)
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
    plan = [most]
    while repetitions is None and plan[0] >= 2 * FIRST:
        plan.insert(0, -(-plan[0] // 2))
    return tuple(plan)


def interval_tail(n_looks: int, scenarios: int) -> float:
    """Return the tail of each interval, so that those of all looks and scenarios hold together.

    >>> interval_tail(4, 5)
    0.00125
    """
    return TAIL / (n_looks * scenarios)


def judge_interval(low: float, high: float, alpha: float) -> str:
    """Judge the interval of an error rate: it holds the level, it fails, or neither is clear.

    Parameters
    ----------
    low, high
        Ends of the interval; NaN where there is no figure.
    alpha
        The level that is promised.

    >>> judge_interval(.04, .064, .05), judge_interval(.02, .11, .05), judge_interval(.06, .09, .05)
    ('holds', 'unclear', 'fails')
    """
    if low > SLACK * alpha:
        return "fails"
    return "holds" if high <= TOLERANCE * alpha else "unclear"
