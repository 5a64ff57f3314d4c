"""How pairs were judged, and the methods paragraph: every sentence true of the procedure that was used."""

from __future__ import annotations

import numpy as np

from shardwise.analysis import answer
from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.figures import degrees
from shardwise.analysis.reasons import plain_title
from shardwise.core.claim import counted
from shardwise.core.scores import undefined_cells
from shardwise.core.text import short
from shardwise.methods.anova.method import WORDS as READINGS
from shardwise.methods.anova.method import ByBootstrap, ByModel
from shardwise.methods.moderated.method import ByModerated, ByStratified
from shardwise.methods.paired.method import ByTopics
from shardwise.methods.repeats.method import ByInstances, ByMixed
from shardwise.report.names import tex
from shardwise.report.sources import SOURCES

PROMISES = {
    "family": "designed to control the family-wise error",
    "discovery": "designed to control the false discovery rate",
    "pair": "each pair by itself, without correction for their number",
}
OF_CORRECTION = {
    "hsd": ("Tukey's honestly significant difference", "Tukey1949"),
    "scheffe": ("Scheffé's method", "Scheffe1953"),
    "dunnett": ("Dunnett's test", ""),
    "holm": ("Holm's correction", "Holm1979"),
    "bonferroni": ("Bonferroni's correction", ""),
    "bh": ("the correction of Benjamini and Hochberg", "BenjaminiHochberg1995"),
    "by": ("the correction of Benjamini and Yekutieli", "BenjaminiYekutieli2001"),
}
SIMULTANEOUS = ("hsd", "scheffe", "dunnett")
OF_TOPICS = {
    "t": ("paired t-tests over {topics}", ""),
    "unpaired-t": ("two-sample t-tests, as if the {systems} had met different {topics}", ""),
    "wilcoxon": ("Wilcoxon's signed-rank tests over {topics}", ""),
    "sign": ("sign tests over {topics}", ""),
    "mcnemar": ("McNemar's exact tests over {topics}", ""),
    "randomization": ("Fisher's randomization tests of the mean difference over {topics}", ""),
    "bootstrap": ("studentised bootstrap tests over {topics}", "JayasingheEtAl2015"),
    "tukey": ("the randomised Tukey HSD test, with {draws} shufflings of the {systems} on each {topic}",
              "Carterette2012"),
    "max-t": ("step-down tests of the largest |t| of all pairs under {draws} random sign flips of {topics}",
              "WestfallYoung1993"),
}  # fmt: skip

OF_SPLITS = {
    "": ("all scores are means over the {n} splits", ""),
    "mean": ("differences are means over the {n} splits, with the variance of one split less the part that other"
             " splits of the same documents remove", "HoffmanEtAl2001,FollmannEtAl2003"),
    "first": ("only the first of the {n} splits counts", ""),
    "unanimous": ("a pair counts as different only if all {n} splits say so", "VoorheesEtAl2017"),
    "majority": ("a pair counts as different if most of the {n} splits say so", ""),
    "quantile": ("a pair's p-value is the smallest corrected quantile of those of the {n} splits",
                 "MeinshausenEtAl2009"),
    "harmonic": ("a pair's p-value is the corrected harmonic mean of those of the {n} splits", "VovkWang2020"),
    "cauchy": ("a pair's p-value is the Cauchy combination of those of the {n} splits", "LiuXie2020"),
}  # fmt: skip


def compared_by(one: ClaimResult, found: Analysis) -> tuple[str, tuple[str, ...]]:
    """What the pairs of a claim were compared by, to stand after "by", and the keys of its sources."""
    text, sources = _test(one, found)
    corrected, source = OF_CORRECTION.get(one.pairs.correction, ("", ""))
    if len(one.pairs) == 1:
        return text, sources
    if corrected:
        joined = (
            f"{text} and {corrected}" if one.pairs.correction in SIMULTANEOUS else f"{text}, with {corrected}"
        )
        text, sources = joined, (*sources, source)
    return f"{text}, {PROMISES[one.procedure.promise]}", tuple(key for key in sources if key)


def _test(one: ClaimResult, found: Analysis) -> tuple[str, tuple[str, ...]]:
    """The test itself, before any correction for the number of pairs."""
    fit = one.procedure.fit
    topics, systems, instances = (found.nouns_for(name) for name in ("topic", "system", "instance"))
    if isinstance(fit, ByModerated):
        return _moderated(one, found)
    if isinstance(fit, ByTopics):
        text, source = OF_TOPICS[fit.name]
        draws = f"{one.n_resamples or 0:,}"
        words = {"topic": found.noun("topic"), "topics": topics, "systems": systems, "draws": draws}
        return text.format(**words), (source,) if source else ()
    if isinstance(fit, ByModel):
        model = f"model {fit.model.name}: {fit.model}" if fit.model.name else f"model {fit.model}"
        return f"an analysis of variance ({model})", ("FerroSanderson2019",) if fit.model.name else ()
    if isinstance(fit, ByBootstrap):
        law = READINGS[fit.reading]
        drawn = f", {one.n_resamples:,} resamples" if fit.drawn else ""
        return f"a bootstrap ANOVA (model {fit.model.title}; {law}{drawn})", (
            "VoorheesEtAl2017",
            "FaggioliFerro2021",
        )
    if isinstance(fit, ByStratified):
        text = f"t-tests with a variance of each pair on every {found.noun('topic')}"
        return f"{text} (Satterthwaite's degrees of freedom)", ("Satterthwaite1946",)
    if isinstance(fit, ByMixed):
        return f"a mixed model of all {systems} with nested {instances}", ("JayasingheEtAl2015",)
    if fit.name == "unified":
        text = f"t-tests whose variance is that over {topics} and over each {found.noun('system')}'s own {instances}"
        return f"{text} (Satterthwaite's degrees of freedom)", ("JayasingheEtAl2015", "Satterthwaite1946")
    return fit.title, ("JayasingheEtAl2015",) if isinstance(fit, ByInstances) else ()


def _moderated(one: ClaimResult, found: Analysis) -> tuple[str, tuple[str, ...]]:
    topics = found.nouns_for("topic")
    draws = f"{one.n_resamples or 0:,}"
    cells = not one.procedure.claim.over
    over = f"the cells of {topics} and {found.nouns_for('shard')}" if cells else topics
    two = int(one.pairs.estimates.size) == 2
    if two:  # the common variance is that of the only pair: there is nothing to moderate by
        if one.procedure.correction:
            return f"a t-test with the variance over {over}{_beyond(one, found)}", ()
        return f"the studentised bootstrap of {topics} ({draws} resamples){_beyond(one, found)}", ()
    text = (
        f"t-tests in which each pair's variance over {over} is drawn towards the mean variance of all pairs"
    )
    text += _beyond(one, found)
    if one.procedure.correction:
        return text, ("Smyth2004",)
    law = f"the joint law of all pairs in {draws} resamples of the {topics}"
    return f"{text}, with step-down p-values from {law}", ("Smyth2004", "RomanoWolf2005")


def _beyond(one: ClaimResult, found: Analysis) -> str:
    """What a moderated variance allows for besides the topics."""
    others = [found.nouns_for(name) for name in one.procedure.claim.over if name != "topic"]
    return f", the spread over {' and '.join(others)} added" if others else ""


def judged(one: ClaimResult, found: Analysis) -> str:
    """What the differences of a claim were held against, as a sentence."""
    if isinstance(one.procedure.fit, ByModel):
        return f"By “{one.procedure.name}” ({plain_title(one.procedure)}), judged against the {_error(one)}."
    return f"By “{one.procedure.name}”: {compared_by(one, found)[0]}."


def _error(one: ClaimResult) -> str:
    """The error term of a model, with its degrees of freedom."""
    error, df = one.pairs.estimates.error or "error", float(one.pairs.estimates.df)
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
                (f"{answer.capital(place)} they were compared by {text}", ",".join(sources[text]))
            )
            continue
        beside = f", {place}," if len(said) > 1 else ""
        opening = f"At the level {found.alpha:g}, we compared {_pairs(claims[0], found)}{beside}"
        sentences.append((f"{opening} by {text}", ",".join(sources[text])))
    return sentences


def _over_splits(found: Analysis) -> list[tuple[str, str]]:
    """How several splits became one answer: once where all claims share it, else claim by claim."""
    if found.n_splits < 2:
        return []
    by_rule = {one.procedure.rule: one for one in found.leading}
    sentences = []
    for rule, one in by_rule.items():
        text, keys = OF_SPLITS[rule]
        place = f"{answer.about(one, found)}, " if len(by_rule) > 1 else ""
        sentences.append((answer.capital(f"{place}{text.format(n=found.n_splits)}"), keys))
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
    if isinstance(one.procedure.fit, ByModel):
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
        cited = "; ".join(SOURCES[key].cited for key in keys.split(",") if key)
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
    return "\n\n".join(SOURCES[key].bibtex for key in keys) + "\n"
