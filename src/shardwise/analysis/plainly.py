"""What comparisons say, in one plain sentence: who is better, by how much, and of what that is true."""

from __future__ import annotations

import math

import numpy as np

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.claim import counted, plural
from shardwise.core.errors import InputError
from shardwise.core.text import short


def plainly(pairs: Comparisons, measure: str = "", alpha: float = 0.05) -> str:
    """Return the answer in one sentence.

    Parameters
    ----------
    pairs
        Comparisons of any systems.
    measure
        What the scores are.
    alpha
        Level of significance; the interval has 1 - alpha.

    >>> from shardwise.comparing.comparisons import compare_estimates
    >>> from shardwise.core.claim import Claim
    >>> from shardwise.methods.base import Estimates
    >>> claim = {"claim": "", "over": Claim("topic", "instance"), "nouns": {"instance": "seed"}}
    >>> two = compare_estimates(Estimates(("neural", "bm25"), np.array([0.47, 0.30]), 0.0012, 49.0, **claim), "none")
    >>> plainly(two, "nDCG@10")
    'neural is better than bm25 by .17 nDCG@10 (.07 to .27) on topics like these, whatever the seed'
    """
    told = pairs.reject(alpha)
    if len(pairs) == 1:
        return f"{_pair(pairs, measure, alpha, bool(told[0]))} {_about(pairs)}"
    system = pairs.estimates.nouns.get("system", "system")
    second = {pairs.estimates.labels[int(k)] for k in pairs.ib}
    if pairs.directed and len(second) == 1:
        better, worse = (int((told & side).sum()) for side in (pairs.difference > 0, pairs.difference < 0))
        rest = len(pairs) - better - worse
        verb = "is" if better == 1 else "are"
        said = f"{counted(better, system)} {verb} better than {short(second.pop())}"
        return f"{said}, {worse} worse, {rest} not told from it, {_about(pairs)}"
    try:
        top = [short(name) for name in pairs.best(alpha)]
    except InputError:  # the best did not meet all others
        return f"{int(told.sum())} of {len(pairs)} pairs differ {_about(pairs)}"
    if len(top) == 1:
        return f"{top[0]} is better than every other {system} {_about(pairs)}"
    if len(top) == len(pairs.names):
        return f"any of the {len(top)} {plural(system)} may be the best {_about(pairs)}"
    return f"the best is {top[0]} or one of {len(top) - 1} not told from it, out of {len(pairs.names)}, {_about(pairs)}"


def _pair(pairs: Comparisons, measure: str, alpha: float, told: bool) -> str:
    row = pairs.to_frame(1.0 - alpha).iloc[0]
    a, b = short(str(row["a"])), short(str(row["b"]))
    d, low, high = (float(row[name]) for name in ("difference", "lower", "upper"))
    if told and d < 0:
        a, b, d, low, high = b, a, -d, -high, -low
    digits = _digits(high - low if math.isfinite(high - low) else abs(d))
    between = f" ({_short(low, digits)} to {_short(high, digits)})" if math.isfinite(high - low) else ""
    amount = " ".join(part for part in (_short(d, digits), measure) if part)
    return f"{a} is better than {b} by {amount}{between}" if told else (
        f"{a} and {b} cannot be told apart: {amount}{between}"
    )  # fmt: skip


def _about(pairs: Comparisons) -> str:
    """The claim without numbers: ``on topics like these, whatever the seed``."""
    over, nouns = pairs.estimates.over.over, pairs.estimates.nouns
    if not over:
        return f"on these {plural(nouns.get('topic', 'topic'))}"
    first, *others = (nouns.get(name, name) for name in over)
    return "".join([f"on {plural(first)} like these", *(f", whatever the {name}" for name in others)])


def _digits(width: float) -> int:
    """Decimals with which an interval of this width has two figures that count."""
    return int(np.clip(1 - math.floor(math.log10(width)), 2, 6)) if width > 0 else 2


def _short(x: float, digits: int) -> str:
    """A number without the zero before its point.

    >>> _short(-0.034, 2), _short(12.5, 1)
    ('-.03', '12.5')
    """
    return f"{x:.{digits}f}".replace("0.", ".", 1) if abs(x) < 1 else f"{x:.{digits}f}"
