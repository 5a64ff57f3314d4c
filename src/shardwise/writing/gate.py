"""Write the verdict of a gate: PASS, FAIL or INCONCLUSIVE first, then the figures."""

from __future__ import annotations

import numpy as np

from shardwise.analysis.gate import MOST_TOPICS, Gate, Gates, SequentialGate
from shardwise.analysis.ledger import Ledger, LedgerGate, Requirement
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.text import shorten_name, shorten_names
from shardwise.writing.numbers import format_interval, format_number, format_percent, format_signed

NO_RARE_FAILURES = "no failures rarer or larger than those seen"
"""What Student's t assumes of scores that it is to find no worse."""

WITHIN_MARGIN = "significantly worse, but by less than the margin"
"""What is said of a significant loss that passes."""


def write_verdict(gate: Gate) -> str:
    """Write what may be claimed, in one or two sentences."""
    new, base = shorten_names((gate.new, gate.base)).values()
    margin = f"{gate.margin:g}"
    confidence = f"{format_percent(1.0 - gate.alpha)} confidence"
    if gate.verdict == "better":
        return f"{new} is significantly better than {base} ({confidence})."
    if gate.verdict == "no worse":
        within = f"{new} is at most {margin} worse than {base} ({confidence})"
        loss = f"; it is {WITHIN_MARGIN}" if gate.significant else ""
        assumption = f". Assumes {NO_RARE_FAILURES}" if gate.assumes_seen else ""
        return f"{within}{loss}{assumption}."
    if gate.verdict == "worse":
        small = abs(gate.difference) < gate.margin
        more = f", and a loss of more than {margin} cannot be excluded" if small else ""
        return f"{new} is significantly worse than {base}{more} ({confidence}).{_name_option(gate)}"
    shown = f"cannot show that {new} is at most {margin} worse than {base}."
    return f"{shown}{_write_advice(gate)}{_name_option(gate)}"


def _name_option(gate: Gate) -> str:
    """The option that would let a system pass, where Student's t would; empty elsewhere."""
    return (
        f" --margin {gate.margin:g}:no-rare-failures passes it: it assumes {NO_RARE_FAILURES}."
        if gate.passes_as_seen
        else ""
    )


def _write_advice(gate: Gate) -> str:
    """What would help where a gate is inconclusive, after a blank."""
    items, power = pluralize_noun(gate.noun), f"{format_percent(gate.power)} power"
    if gate.uninformative:
        return f" All scores of both are the same, so no loss could show; add harder {items}."
    if gate.needed is None:
        return ""
    if gate.needed > MOST_TOPICS:
        return f" More {items} alone will not help; add {pluralize_noun(gate.instance)}."
    if gate.needed <= gate.items:
        enough = f"{format_count(gate.items, gate.noun)} are enough for equal systems"
        return f" {enough} ({power}); the loss is too large, or too near the margin."
    clusters = f" in about {gate.needed_clusters:,.0f} clusters" if gate.needed_clusters else ""
    needed = f"About {format_count(int(gate.needed), gate.noun)}{clusters}"
    return f" {needed} would show it for equal systems ({power}); there are {gate.items:,}."


def write_gate(gate: Gate) -> str:
    """Write the verdict of a gate in two lines: the answer, then the figures, the method and the scope."""
    digits = max(3, 1 - int(np.floor(np.log10(gate.margin))))
    word = "PASS" if gate.passes else "FAIL" if gate.verdict == "worse" else "INCONCLUSIVE"
    mark = "✅" if gate.passes else "❌"
    means = f"{format_number(gate.mean_new, digits)} against {format_number(gate.mean_base, digits)}"
    limits = "not estimable"
    if np.isfinite(gate.lower):
        limits = format_interval(gate.lower, gate.upper, digits, significant=gate.significant)
    measure = shorten_name(gate.measure) + " (lower is better)" * gate.lower_is_better
    repeats = f" Repeats treated as {gate.repeats}." if gate.repeats else ""
    difference = f"difference {format_signed(gate.difference, digits)}"
    level = format_percent(1.0 - gate.alpha)
    return "\n".join(
        [
            f"{mark} {word}: {write_verdict(gate)}",
            f"{measure} {means}: {difference} ({level} CI {limits}); margin {gate.margin:g}."
            f" Applies to {gate.claim}. Method: {gate.procedure}.{repeats}",
        ]
    )


def write_sequential_gate(gate: SequentialGate) -> str:
    """Write the verdict of a sequential gate so far."""
    new, base = shorten_names((gate.new, gate.base)).values()
    units = format_count(gate.state.units, gate.noun)
    loss = f"; it is {WITHIN_MARGIN}" if "worse" in gate.state.shown else ""
    words = {
        "better": f"✅ PASS: {new} is significantly better than {base}",
        "no worse": f"✅ PASS: {new} is at most {gate.margin:g} worse than {base}{loss}",
        "worse": f"❌ FAIL: {new} is significantly worse than {base}",
        "continue": f"❌ CONTINUE: no verdict on {new} against {base} yet; add {pluralize_noun(gate.noun)}",
    }[gate.verdict]
    level = format_percent(1.0 - gate.state.alpha)
    items = pluralize_noun(gate.noun)
    confidence = f"{level} confidence over all interim looks if {items} come in random order"
    evidence = f"{max(gate.state.evidence.values()):.3g} of {gate.state.threshold:g}"
    return f"{words} ({units}, {gate.added:,} new; {confidence}; evidence {evidence})."


def write_ledger_gate(gate: LedgerGate) -> str:
    """Write the verdict on one candidate of a loop, what the hold-out can still show, and what was revealed."""
    new, base = shorten_names((gate.new, gate.base)).values()
    parts = [
        ("better" if asked.margin == 0.0 else f"at most {asked.margin:g} worse")
        + f" than {base}" * (asked is gate.measures[0])
        + _name_measure(gate, asked, "by")
        for asked in gate.measures
    ]
    question = f"{new} is {' and '.join(parts)}"
    confidence = f"{format_percent(1.0 - gate.alpha / 2.0)} confidence over all candidates of this ledger"
    slices = " × ".join(gate.by)
    if gate.passes:
        verdict = (
            f"✅ PASS: {question} ({confidence}){f'; significantly worse on no {slices}' * bool(slices)}."
        )
    else:
        worse = f", or it is significantly worse on a {slices}" * bool(slices)
        verdict = f"❌ FAIL: cannot show that {question}{worse}."
    again = " judged before, and not counted again" if gate.repeated else ""
    of = f" of {gate.candidates_declared:,}" if gate.candidates_declared else ""
    so_far = f"{gate.candidates:,} judged and {gate.accepted:,} accepted so far"
    state = f"Candidate {gate.candidate:,}{of}{again}; {so_far}."
    lines = [verdict, f"{state} Level of this test: {gate.level:.2g}. {_describe_left(gate)}"]
    for asked in gate.each:
        if asked.figures is not None:
            _, difference, lower, upper, p = asked.figures
            limits = format_interval(lower, upper, 3, significant=False)
            about = f"{_name_measure(gate, asked, 'of')}{f' on {asked.slice}' * bool(asked.slice)}"
            interval = f"{format_percent(1.0 - gate.alpha)} CI {limits}"
            test = "one-sided p of a loss = " if asked.slice else "as if it were the only candidate p = "
            lines.append(
                f"Revealed: difference{about} {format_signed(difference, 3)} ({interval}), {test}{p:.2g}."
            )
    if gate.revealed:
        count = format_count(gate.revealed, "candidate")
        lines.append(
            f"Figures of {count} were revealed: from then on the confidence holds only for candidates made without"
            " them."
        )
    return "\n".join(lines)


def _name_measure(gate: LedgerGate, asked: Requirement, word: str) -> str:
    """The name of a measure after a word, where there are several."""
    return f" {word} {shorten_name(asked.measure)}" if len(gate.measures) > 1 else ""


def _describe_left(gate: LedgerGate) -> str:
    """What the next candidate needs to pass."""
    items, power = format_count(gate.items, gate.noun), f"{format_percent(gate.power)} power"
    fresh = f"take fresh {pluralize_noun(gate.noun)}."
    if gate.candidates_declared is not None and gate.candidates >= gate.candidates_declared:
        return f"All candidates that were declared are judged: {fresh}"
    if any(not np.isfinite(asked.detectable) for asked in gate.measures):
        return f"These {items} can show nothing more: {fresh}"
    worn = any(asked.worn for asked in gate.measures)
    start = f"The hold-out of {items} is worn out: it" if worn else f"These {items}"
    shown = [
        (f"show a gain of {asked.detectable:.2g}" if asked.detectable > 0.0
         else f"pass a loss of {-asked.detectable:.2g}" if asked.detectable < 0.0 else "pass an equal system")
        + _name_measure(gate, asked, "in")
        for asked in gate.measures
    ]  # fmt: skip
    each = " each" if len(shown) > 1 else ""
    kinds = {
        "the two differ on 20% of them" if asked.right_wrong else "differences vary by 0.2 of the range"
        for asked in gate.measures
    }
    gains = " and ".join(shown).replace(" and show ", " and ")
    left = f"{start} can still {gains} with {power}{each} (if {' and '.join(sorted(kinds))})"
    return f"{left}; {fresh}" if worn else f"{left}."


def write_ledger(ledger: Ledger, power: float) -> list[str]:
    """Write what a ledger is about and how much of its error rate is used, above the plan."""
    head = ledger.head
    of = f" of {head['declared']:,} declared" if head["declared"] else ""
    earlier = f" Follows {head['after']['ledger']}." if head["after"] else ""
    base = shorten_name(ledger.base[0])
    return [
        f"{format_count(len(ledger.looks), 'candidate')}{of} judged on {format_count(head['count'], head['noun'])},"
        f" {ledger.accepted:,} accepted; the base is {base}.{earlier}",
        f"Error rate used: {ledger.spent:.2g} of {head['alpha'] / 2.0:g}. True gains that a candidate needs to pass"
        f" with {format_percent(power)} power, by its number and those accepted before it:",
    ]


def write_gates(gates: Gates) -> str:
    """Write one verdict on several requirements, those that fail by name, and the figures of each measure."""
    failed = [gate for gate in gates.each if not gate.passes]
    total = f"{len(gates.each):,} requirements"
    several_systems, several = (
        len({getattr(gate, name) for gate in gates.each}) > 1 for name in ("new", "measure")
    )
    lines = [f"✅ PASS: all {total} met."]
    if failed:
        word = "FAIL" if any(gate.verdict == "worse" for gate in failed) else "INCONCLUSIVE"
        named = [
            [shorten_name(gate.new)] * several_systems
            + [shorten_name(gate.measure)] * (several or not several_systems)
            + [f"on {gate.slice}"] * bool(gate.slice)
            for gate in failed
        ]
        lines = [f"❌ {word}: {len(failed):,} of {total} not met: {', '.join(map(' '.join, named))}."]
    lines += [write_gate(gate) for gate in gates.each if not gate.slice]
    slices = [gate for gate in gates.each if gate.slice]
    for gate in slices:
        if not gate.passes:
            about = f", {shorten_name(gate.measure)}" if several else ""
            lines.append(f"On {gate.slice}{about}: {write_verdict(gate)}")
    if gates.by:
        left = f"; not tested (too few items): {', '.join(gates.untested)}" if gates.untested else ""
        lines.append(
            f"Every {' × '.join(gates.by)} must not be significantly worse ({len(slices):,} tests corrected"
            f" together){left}."
        )
    return "\n".join(lines)
