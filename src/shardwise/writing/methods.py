"""How pairs were judged, and the methods paragraph: every sentence true of the procedure that was used."""

from __future__ import annotations

import numpy as np

from shardwise.analysis import answer
from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.figures import degrees
from shardwise.analysis.reasons import make_words
from shardwise.core.claim import counted
from shardwise.core.scores import nouns_of, undefined_cells
from shardwise.core.text import short
from shardwise.methods.splits import RULES
from shardwise.stats.corrections import CORRECTIONS, SIMULTANEOUS
from shardwise.writing.names import tex
from shardwise.writing.sources import find_source

ERROR_RATES = {
    "family": "controlling the family-wise error",
    "discovery": "controlling the false discovery rate",
    "pair": "each pair by itself, without correction for their number",
}


def compared_by(one: ClaimResult, found: Analysis) -> tuple[str, tuple[str, ...]]:
    """What the pairs of a claim were compared with, and the keys of its sources."""
    procedure = one.procedure
    clause = procedure.clause(one.pairs.estimates.size)
    words = make_words(nouns_of(found.scores))
    text = clause.text.format(**words, resamples=f"{one.n_resamples or 0:,}")
    if len(one.pairs) == 1:
        return text, clause.citations
    citations = clause.citations
    correction = CORRECTIONS.get(procedure.correction)
    if correction is not None and correction.text:
        joined = " and" if procedure.correction in SIMULTANEOUS else ", with"
        text, citations = f"{text}{joined} {correction.text}", (*citations, *correction.citations)
    return f"{text}, {ERROR_RATES[procedure.error_rate]}", citations


def judged(one: ClaimResult, found: Analysis) -> str:
    """What the differences of a claim were held against, as a sentence."""
    if one.procedure.method.model is not None and one.pairs.estimates.distribution is None:
        return f"By “{one.procedure.name}” ({one.procedure.plain_title}), judged against the {_error(one)}."
    return f"By “{one.procedure.name}”: {compared_by(one, found)[0]}."


def _error(one: ClaimResult) -> str:
    """The error term of a model, with its degrees of freedom."""
    error, df = one.pairs.estimates.error or "error", one.pairs.error_df
    named = "residual mean square" if error == "error" else f"mean square of {error}"
    if np.isnan(df):  # decisions of several splits were combined
        return f"{named} of each split"
    return f"{named} on {degrees(df)} degrees of freedom"


def methods_paragraph(found: Analysis) -> list[tuple[str, str]]:
    """The paragraph as sentences, each with the keys of its sources, separated by commas."""
    said = [_scored(found), *_filled(found), *_compared(found), *_over_splits(found)]
    said += [_result(one, found) for one in found.shown]
    said += [(f"The same holds {one.claim}", "") for one in found.leading if one not in found.shown]
    if found.power is not None:
        power = found.power
        said.append(
            (
                f"A paired t-test of two {found.nouns_for('system')} chosen beforehand, on"
                f" {found.counted(power.topics, 'topic')} like these, is expected to find a difference of"
                f" {power.detectable:.3g} in four cases out of five",
                "Sakai2014",
            )
        )
    return said


def _scored(found: Analysis) -> tuple[str, str]:
    systems, topics = found.counted(len(found.systems), "system"), found.counted(found.topics, "topic")
    text = f"We scored {systems} on {topics} with {short(found.measure)}"
    if "instance" in found.scores.dims:
        seen = (
            found.lead.claim.rsplit("(", 1)[-1].removesuffix(" seen)") if "seen)" in found.lead.claim else ""
        )
        many = seen or f"{found.scores.sizes['instance']:,}"
        noun = found.noun("instance") if many == "1" else found.nouns_for("instance")
        return f"{text}, with {many} {noun} of each {found.noun('system')}", ""
    if found.shards > 1:
        splits = f", in {counted(found.n_splits, 'independent split')}" if found.n_splits > 1 else ""
        return (
            f"{text}, separately on each of {found.counted(found.shards, 'shard')} of the documents{splits}, which"
            f" gives replicates of every {found.noun('topic')} and {found.noun('system')}",
            "VoorheesEtAl2017,FerroSanderson2019",
        )
    return text, ""


def _filled(found: Analysis) -> list[tuple[str, str]]:
    """What was done about scores that are undefined or missing."""
    said = []
    policy = found.configuration["fill"]
    left = policy == "leave" and "shard" in found.scores.dims and undefined_cells(found.scores).any()
    if left or any(one.name in {"undefined scores", "many undefined scores"} for one in found.remarks):
        special = {
            "drop": f"such {found.nouns_for('topic')} were left out",
            "leave": "such cells were left out",
        }
        special |= {name: f"such cells were filled by the policy “{name}”" for name in ("lq", "mean")}
        how = special.get(policy, f"such cells count as {policy}")
        said.append(
            (
                f"A {found.noun('topic')} without relevant documents in a shard has no score there; {how}",
                "FaggioliFerro2021",
            )
        )
    gaps = [one for one in found.remarks if one.name == "missing scores"]
    said += [(one.text.split(":")[0].removesuffix("."), "") for one in gaps]
    return said


def _compared(found: Analysis) -> list[tuple[str, str]]:
    """How pairs were compared: once where all claims share it, else claim by claim."""
    said: dict[str, list[ClaimResult]] = {}
    sources: dict[str, tuple[str, ...]] = {}
    for one in found.leading:
        text, keys = compared_by(one, found)
        said.setdefault(text, []).append(one)
        sources[text] = keys
    sentences = []
    for k, (text, claims) in enumerate(said.items()):
        place = answer.about(claims[0], found)
        if k:
            sentences.append(
                (f"{answer.capital(place)} they were compared with {text}", ",".join(sources[text]))
            )
            continue
        beside = f", {place}," if len(said) > 1 else ""
        opening = f"At the level {found.alpha:g}, we compared {_pairs(claims[0], found)}{beside}"
        sentences.append((f"{opening} with {text}", ",".join(sources[text])))
    return sentences


def _over_splits(found: Analysis) -> list[tuple[str, str]]:
    """How several splits became one answer: once where all claims share it, else claim by claim."""
    if found.n_splits < 2:
        return []
    by_rule = {one.procedure.rule: one for one in found.leading}
    sentences = []
    for rule, one in by_rule.items():
        place = f"{answer.about(one, found)}, " if len(by_rule) > 1 else ""
        text = RULES[rule].text.format(n=found.n_splits)
        sentences.append((answer.capital(f"{place}{text}"), ",".join(RULES[rule].citations)))
    return sentences


def _pairs(one: ClaimResult, found: Analysis) -> str:
    systems = found.nouns_for("system")
    if len(one.pairs.names) == 2:
        return f"the two {systems}"
    if found.baselines:
        return f"all {systems} with {' and with '.join(map(short, found.baselines))}"
    return f"all {len(one.pairs):,} pairs of {systems}"


def _result(one: ClaimResult, found: Analysis) -> tuple[str, str]:
    """What came out for one claim."""
    system, systems = found.noun("system"), found.nouns_for("system")
    opening = f"{answer.capital(one.claim)}, "
    if one.procedure.method.model is not None and one.pairs.estimates.distribution is None:
        opening += f"held against the {_error(one)}, "
    if len(one.pairs) == 1:
        differ = "differ" if one.found else "are not told apart"
        return f"{opening}the two {systems} {differ} ({answer.difference(one, found)})", ""
    verb = "differs" if one.found in (0, 1) else "differ"
    text = f"{opening}{answer.of_all(one.found, len(one.pairs))} {len(one.pairs):,} pairs {verb}"
    if not one.top:
        return text, ""
    if one.may_be_best:
        sure = f"with {100 * (1 - found.alpha):g} % confidence"
        group = (
            f"the best {system} is among a group of {len(one.top):,}"
            if len(one.top) > 1
            else f"one {system} is the best"
        )
        return f"{text}; {sure} {group}", "Hsu1981"
    if len(one.top) == 1:
        return f"{text}, and the {system} with the highest mean differs from every other", ""
    alike = len(one.top) - 1
    verb = "is" if alike == 1 else "are"
    return f"{text}, and {alike:,} {verb} not told from the {system} with the highest mean", ""


def methods_text(found: Analysis) -> str:
    """The paragraph with sources by name and year."""
    sentences = []
    for text, keys in methods_paragraph(found):
        cited = "; ".join(find_source(key).cited for key in keys.split(",") if key)
        sentences.append(f"{text} ({cited})." if cited else f"{text}.")
    sentences.append(f"The analysis was done with shardwise {found.versions['shardwise']}.")
    return " ".join(sentences)


def methods_latex(found: Analysis) -> str:
    """The paragraph with \\cite commands."""
    sentences = []
    for text, keys in methods_paragraph(found):
        cite = f"~\\cite{{{keys}}}" if keys else ""
        sentences.append(f"{_tex_text(text)}{cite}.")
    sentences.append(f"The analysis was done with \\texttt{{shardwise}} {found.versions['shardwise']}.")
    return "\n".join(sentences) + "\n"


def _tex_text(text: str) -> str:
    quoted = text.replace("“", "``").replace("”", "''")
    return tex(quoted, most=len(quoted) * 8)


def bibliography(found: Analysis) -> str:
    """BibTeX entries of the sources that the paragraph cites, in the order of their first mention."""
    keys = dict.fromkeys(key for _, keys in methods_paragraph(found) for key in keys.split(",") if key)
    return "\n\n".join(find_source(key).bibtex for key in keys) + "\n"
