"""What came out, in sentences that a reader can repeat: the claim that leads first, in the user's own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shardwise.analysis.figures import equated, number, p_value
from shardwise.core.claim import Claim, counted
from shardwise.core.text import short
from shardwise.methods.splits import RULES

if TYPE_CHECKING:
    from shardwise.analysis.analysis import Analysis, ClaimResult

FEW_NAMED = 3  # systems that may be the best and are named in a sentence


def capital(text: str) -> str:
    """A sentence with its first letter large.

    >>> capital("on these topics")
    'On these topics'
    """
    return f"{text[:1].upper()}{text[1:]}"


def subject(one: ClaimResult, found: Analysis) -> str:
    """What a claim is about, without numbers: ``questions like these, whatever the seed``; ``these topics``."""
    over = one.procedure.claim.over
    if not over:
        return f"these {found.nouns_for('topic')}"
    first, *others = over
    return "".join(
        [f"{found.nouns_for(first)} like these", *(f", whatever the {found.noun(d)}" for d in others)]
    )


def about(one: ClaimResult, found: Analysis) -> str:
    """What a claim is about, as a sentence begins: ``for topics like these``, ``on these 50 topics``."""
    if one.procedure.claim.over:
        return f"for {subject(one, found)}"
    return f"on these {found.counted(found.topics, 'topic')}"


def headline(found: Analysis) -> str:
    """The answer for every claim in one sentence, the leading one first."""
    first, *others = found.leading
    said = f"{capital(about(first, found))}, {_top(first, found)}"
    for other in others:
        if _alike(first, other, found):
            said += f"; the same holds {about(other, found)}"
        else:
            said += f"; {about(other, found)}, {_again(other, first, found)}"
    return f"{said}."


def _alike(one: ClaimResult, other: ClaimResult, found: Analysis) -> bool:
    if found.baselines:
        return not one.found_beyond(other) and not other.found_beyond(one)
    same = (one.top, one.best) == (other.top, other.best)
    if len(one.pairs.names) == 2 or not one.top:
        return same and one.found == other.found
    return same and (one.may_be_best == other.may_be_best or len(one.top) == 1)


def _top(one: ClaimResult, found: Analysis) -> str:
    best, names = short(one.best), one.pairs.names
    others, alike = len(names) - 1, len(one.top) - 1
    if others == 1:
        second = short(names[1])
        return f"{best} is better than {second}" if one.found else f"{best} and {second} cannot be told apart"
    if found.baselines or not one.top:
        return _against(one, found)
    systems, system = found.nouns_for("system"), found.noun("system")
    if one.may_be_best:
        if alike == 0:
            return f"{best} is the best of the {len(names):,} {systems}"
        if alike == others:
            return f"any of the {len(names):,} {systems} may be the best"
        if alike < FEW_NAMED:
            return f"the best is {_either([short(name) for name in one.top])}"
        return f"the best is {best} or one of {alike:,} other {systems}, out of {len(names):,}"
    if alike == 0:
        return f"{best} is better than every other {system}"
    if alike == others:
        return f"no other {system} can be told from the best, {best}"
    verb = "is" if alike == 1 else "are"
    return f"{alike:,} of the {others:,} other {systems} {verb} indistinguishable from the best, {best}"


def _against(one: ClaimResult, found: Analysis) -> str:
    """The answer where systems were not compared with the best, but with a baseline or in chosen pairs."""
    if found.baselines:
        return "; ".join(_beside(one, found, name) for name in found.baselines)
    total = len(one.pairs)
    if total == 1:
        return f"the pair compared {'differs' if one.found else 'does not differ'}"
    verb = "differs" if one.found in (0, 1) else "differ"
    return f"{of_all(one.found, total)} {total:,} pairs compared {verb}"


def _beside(one: ClaimResult, found: Analysis, baseline: str) -> str:
    """How the others stand to one baseline: ``rm3 is better than bm25, and 2 of the 9 other systems are worse``."""
    names = one.pairs.names
    signs = one.directions(names)[:, names.index(baseline)]
    others = len(names) - 1
    said: list[str] = []
    for sign, word in ((1, "better"), (-1, "worse")):
        members = [short(name) for name, own in zip(names, signs, strict=True) if own == sign]
        if not members:
            continue
        verb = "is" if len(members) == 1 else "are"
        many = f"{of_all(len(members), others)} {others:,} other {found.nouns_for('system')}"
        subject = conjoined(members) if len(members) <= FEW_NAMED else many
        said.append(f"{subject} {verb} {word}{'' if said else f' than {short(baseline)}'}")
    return ", and ".join(said) or f"no {found.noun('system')} can be told from {short(baseline)}"


def conjoined(names: Sequence[str]) -> str:
    """Names with commas and an "and".

    >>> conjoined(["a", "b", "c"]), conjoined(["a"])
    ('a, b and c', 'a')
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def of_all(found: int, total: int) -> str:
    """How many of all, before their number.

    >>> [of_all(found, 5) for found in (0, 1, 5)]
    ['none of the', '1 of the', 'all']
    """
    return "none of the" if not found else "all" if found == total else f"{found:,} of the"


def _either(names: Sequence[str]) -> str:
    """Names with commas and an "or".

    >>> _either(["a", "b", "c"]), _either(["a", "b"])
    ('a, b or c', 'a or b')
    """
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _again(one: ClaimResult, before: ClaimResult, found: Analysis) -> str:
    """The second half of the answer, which differs from the first."""
    others, alike = len(one.pairs.names) - 1, len(one.top) - 1
    if one.best != before.best or one.may_be_best or not one.top or before.may_be_best:
        return _top(one, found)
    if others == 1:
        return _top(one, found) if one.found else "they cannot be told apart"
    if alike == 0:
        return f"it is better than every other {found.noun('system')}"
    if alike == others:
        return f"no {found.noun('system')} can be told from it"
    if len(before.top) in (1, others + 1):
        return f"{alike:,} of them cannot be told from it"
    return f"{alike:,} {'is' if alike == 1 else 'are'}"


def pairs_sentence(one: ClaimResult, found: Analysis) -> str:
    """How many pairs were told apart, and from which difference on."""
    total, d = len(one.pairs), found.decimals
    systems = found.nouns_for("system")
    if total == 1:
        text = f"the two {systems} are {'' if one.found else 'not '}told apart: {difference(one, found)}"
    else:
        share = f" ({one.found / total:.0%})" if 0 < one.found < total else ""
        verb = "is" if one.found in (0, 1) else "are"
        text = f"{of_all(one.found, total)} {total:,} pairs of {systems} {verb} told apart{share}"
    if one.uniform:
        text += f"; a difference counts from {number(one.critical, d)}"
    return f"{capital(text)}."


def instead_sentence(one: ClaimResult, found: Analysis) -> str:
    """What a procedure says that takes the place of one which fails here, or the same one at another level."""
    level = f" at alpha {one.alpha:g}" if one.alpha != found.alpha else ""
    told = pairs_sentence(one, found)
    top = f" {capital(_top(one, found))}." if len(one.pairs) > 1 and one.top else ""
    return f"By {one.procedure.name}{level}, {about(one, found)}: {told[:1].lower()}{told[1:]}{top}"


def difference(one: ClaimResult, found: Analysis, k: int = 0) -> str:
    """A pair in numbers: its difference, the interval of that, and p."""
    d = found.decimals
    value, half = float(one.pairs.difference[k]), float(one.half[k])
    level = f"{100 * (1 - one.alpha):g} % confidence interval"
    between = f", {level} {number(value - half, d)} to {number(value + half, d)}" if half == half else ""
    p = p_value(float(one.pairs.p_adjusted[k]), one.resolution)
    return f"difference {number(value, d)}{between}, {equated(p)}"


def contrast(found: Analysis) -> str:
    """What the two claims have to do with each other on these data."""
    topics, systems = found.nouns_for("topic"), found.nouns_for("system")
    if len(found.claims) == 1:
        (one,) = found.claims
        if not one.procedure.claim.over:
            return (
                f"Nothing is said about {topics} like these: {found.unsupported}. A difference found here may vanish or"
                f" turn round with other {topics}."
            )
        return _alone(one, found)
    here, like = found.claims
    if here.same_pairs(like) and "shard" not in found.scores.dims:
        return (
            f"With one score for each {found.noun('topic')} and {found.noun('system')} there is one error for both"
            f" claims, so both give the same answer. It is right for {topics} like these, and careful for these"
            f" {topics}; scores on shards would separate the two."
        )
    only_here, only_like = here.found_beyond(like), like.found_beyond(here)
    of_like = subject(like, found)
    if not only_here and not only_like:
        return (
            f"Both claims tell the same pairs apart: {systems} keep their distance from {found.noun('topic')} to"
            f" {found.noun('topic')}."
            if here.found
            else "Neither claim tells any pair apart."
        )
    said = []
    if only_here:
        verb = "differs" if only_here == 1 else "differ"
        said.append(
            f"{counted(only_here, 'pair')} {verb} on these {topics} only: there the difference was measured well,"
            f" but {systems} change places so much from {found.noun('topic')} to {found.noun('topic')} that other"
            f" {topics} might not show it."
        )
    if only_like:
        verb = "differs" if only_like == 1 else "differ"
        said.append(f"{counted(only_like, 'pair')} {verb} for {of_like} only.")
    return " ".join(said)


def _alone(one: ClaimResult, found: Analysis) -> str:
    """Why there is nothing beside the claim about topics like these."""
    topics = found.nouns_for("topic")
    opening = f"This is about {subject(one, found)}, not about these {topics} alone"
    if "shard" in found.scores.dims or "instance" in found.scores.dims:
        if one.procedure.method.takes_common_gaps(Claim()) and "shard" in found.scores.dims:
            lacks = f"no {found.noun('system')} lacks scores that others have"
            return f"{opening}, of which the test speaks only where {lacks}."
        return f"{opening}, of which {one.procedure.name} does not speak."
    return (
        f"{opening}: with one score for each {found.noun('topic')} and {found.noun('system')}, chance and the"
        f" {found.noun('topic')} cannot be told apart; scores on shards would separate them."
    )


def splits_sentence(found: Analysis) -> str:
    """How several splits became one answer, and how many are enough; empty where there is one."""
    n, rule = found.n_splits, found.procedure.rule
    if n < 2:
        return ""
    how = "are of the means over" if rule in ("", "mean") else f"({RULES[rule].title}) combine"
    noise = [
        f" {capital(about(claim, found))}, {one.noise}."
        for claim in found.leading
        for one in found.splits
        if one.key == claim.key and one.noise is not None
    ]
    return f"The figures {how} the {n} splits.{''.join(noise)}"
