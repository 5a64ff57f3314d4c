"""What sliders say -> what so many topics and seeds can show, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from shardwise.core.claim import pluralize_noun
from shardwise.core.variance_components import VarianceComponents
from shardwise.planning.design import Design, count_topics
from shardwise.planning.plans import RepeatPlan, design_repeats, plan_more
from shardwise.writing.assets import WIDTH, make_axis
from shardwise.writing.planning import REPEAT_NOUNS, write_repeat_plan

AROUND = (0.5, 1.0, 2.0, 4.0)  # times the topics, to see what more of them buy
POINTS = 60  # of the curve
MOST_SHOWN = 40  # times the topics that the curve shows
WIDE, HIGH = 600.0, 240.0  # units of its drawing


BOUNDS: dict[str, tuple[float, float]] = {
    "topics": (2, 100_000), "systems": (2, 2000), "seeds": (1, 100), "depth": (0, 10_000), "min_diff": (1e-4, 1e3),
    "alpha": (0.001, 0.2), "power": (0.5, 0.99), "variance": (1e-6, 1e4), "between_seeds": (0.0, 1e4),
    "within_seeds": (0.0, 1e4), "per_topic": (0.0, 1e9), "per_judgment": (0.0, 1e9), "per_answer": (0.0, 1e9),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlanForm:
    """A design: its sizes, what scores vary by, what is to be found, and prices."""

    topics: int = 50
    systems: int = 10
    seeds: int = 1
    depth: int = 0  # judged documents of a topic
    min_diff: float = 0.05
    alpha: float = 0.05
    power: float = 0.8
    variance: float = 0.02  # of a system's score on a topic, topic difficulty taken out
    between_seeds: float = 0.0  # of a system's mean from seed to seed
    within_seeds: float = 0.0  # of a seed's score on a topic
    per_topic: float = 0.0
    per_judgment: float = 0.0
    per_answer: float = 0.0
    source: str = ""
    present: int = 0  # topics of the analysis that the plan was opened from
    kind: str = ""  # seeds or samples, where the analysis says so
    nouns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse_query(cls, query: Mapping[str, str], sources: Sequence[Mapping[str, Any]] = ()) -> PlanForm:
        """Return what a query says, within what makes sense; what it does not say is as in the analysis it names.

        Parameters
        ----------
        query
            Fields of the form.
        sources
            Analyses to plan from: id, and the figures of `describe_plan`.

        >>> PlanForm.parse_query({"topics": "80", "alpha": "7"}).topics, PlanForm.parse_query({"alpha": "x"}).alpha
        (80, 0.05)
        """
        known: dict[str, Any] = {}
        for source in sources:
            if source["id"] == query.get("source"):
                # its words, sizes, level, variances and repeats
                parts = source["components"] or {}
                known = {
                    name: source[name] for name in ("topics", "systems", "seeds", "alpha", "kind", "nouns")
                }
                known |= {"source": str(source["id"]), "present": int(source["topics"])}
                variances = {
                    "variance": parts.get("topic:system", source["variance"]),
                    "between_seeds": parts.get("system:instance", 0.0),
                    "within_seeds": parts.get("error", 0.0),
                }
                known |= {name: float(f"{value:.3g}") for name, value in variances.items()}
                if source["min_diff"]:
                    known["min_diff"] = float(f"{source['min_diff']:.2g}")
        for item in fields(cls):
            if item.name in BOUNDS:
                low, high = BOUNDS[item.name]
                number = known.get(item.name, item.default)
                with suppress(ValueError):
                    typed = float(query.get(item.name, ""))
                    number = typed if math.isfinite(typed) else number
                number = min(max(number, low), high)
                known[item.name] = int(number) if isinstance(item.default, int) else float(number)
        return cls(**known)

    def name_one(self, dimension: str) -> str:
        """Return the user's word for a level of a dimension: ``question`` for topic."""
        usual = REPEAT_NOUNS[self.repeats_kind] if dimension == "instance" else dimension
        noun = self.nouns.get(dimension, usual)
        return usual if noun == "instance" else noun

    def name_many(self, dimension: str) -> str:
        """Return the user's word for many levels of a dimension: ``questions`` for topic."""
        return pluralize_noun(self.name_one(dimension))

    @property
    def repeats_kind(self) -> str:
        """What repeats are: as the analysis has them, else samples where no variance from seed to seed is known."""
        return self.kind or ("seeds" if self.between_seeds > 0.0 or not self.within_seeds else "samples")

    @property
    def decade(self) -> float:
        """The power of ten at or below the smallest difference, by which its slider is graded.

        >>> PlanForm(min_diff=0.072).decade, PlanForm(min_diff=3.0).decade
        (0.01, 1.0)
        """
        return float(f"1e{math.floor(math.log10(self.min_diff) + 1e-9)}")

    def price_with(self, topics: int) -> float:
        """Return what it costs with a number of topics: these, judgments, and answers of every seed of every system.

        Parameters
        ----------
        topics
            That number.

        >>> PlanForm(topics=10, depth=100, per_judgment=.5, per_topic=2).price_with(20)
        1040.0
        """
        answers = self.systems * self.seeds * self.per_answer
        return topics * (self.per_topic + self.depth * self.per_judgment + answers)

    @property
    def has_seeds(self) -> bool:
        """Whether seeds are planned for, and something is known of what they do."""
        return self.seeds > 1 and self.between_seeds + self.within_seeds > 0.0

    @property
    def design(self) -> Design:
        """The design that the form describes; without prices, answers are counted."""
        how: dict[str, Any] = {"topics": self.topics, "systems": self.systems, "min_diff": self.min_diff}
        how |= {"target": self.power, "alpha": self.alpha}
        how |= {"topic_cost": self.per_topic + self.depth * self.per_judgment}
        how |= {"answer_cost": self.per_answer if self.price_with(1) > 0.0 else 1.0}
        if not self.has_seeds:
            return Design(self.variance + self.within_seeds, method="moderated", **how)
        parts = {
            "topic:system": self.variance,
            "system:instance": self.between_seeds,
            "error": self.within_seeds,
        }
        return design_repeats(VarianceComponents(parts), self.repeats_kind, repeats=self.seeds, **how)


def compute_figures(plan: PlanForm) -> dict[str, Any]:
    """Return what a design reaches: the numbers of ``shardwise design``, and the price.

    Any two of all systems are compared by the default test; with one score of each on each topic, two systems that were
    chosen in advance too.
    """
    every = plan.design
    two = every if plan.has_seeds else replace(every, systems=2)
    rows = []
    for n in sorted({max(2, round(plan.topics * times)) for times in AROUND}):
        of_two, of_all = replace(two, topics=n), replace(every, topics=n)
        half = of_all.half_width if plan.has_seeds else of_two.width / 2.0
        row = {"topics": n, "all": of_all.detectable, "half_width": half, "chance": of_all.power}
        rows.append(row | {"two": of_two.detectable, "price": plan.price_with(n)})
    if plan.has_seeds:
        more = RepeatPlan(plan.repeats_kind, every, *plan_more(every))
        enough = None if more.more_items is None else more.more_items.topics
        need = {"topics": enough, "seeds": more.more_repeats and more.more_repeats.repeats}
        sentences = write_repeat_plan(more, plan.nouns, priced=plan.price_with(1) > 0.0)
    else:
        enough = count_topics(every.search())
        need, sentences = {"two": count_topics(two.search()), "all": enough}, []
    return {
        "rows": rows,
        "now": next(row for row in rows if row["topics"] == plan.topics),
        "need": need,
        "sentences": sentences,
        "enough": enough,
        "price": plan.price_with(plan.topics),
        "priced": plan.price_with(1) > 0.0,
        "curve": draw_curve(plan, enough),
    }


def draw_curve(plan: PlanForm, enough: int | None) -> dict[str, Any]:
    """Return the power for the smallest difference over the number of topics, in units of the drawing.

    Parameters
    ----------
    plan
        The design.
    enough
        Topics that reach the power asked for; None where none do.
    """
    shown = max(4, 2 * plan.topics, 2 * plan.present, math.ceil(1.15 * (enough or 0)))
    most = min(shown, MOST_SHOWN * max(plan.topics, plan.present))
    marks = {plan.topics, *([plan.present] if plan.present else [])}
    topics = sorted({*np.linspace(2, most, POINTS).round().astype(int).tolist(), *marks})
    powers = replace(plan.design, topics=np.array(topics)).power.tolist()
    across = make_axis([0.0, float(most)])

    def locate(n: float, power: float) -> tuple[float, float]:
        return round(WIDE * across.locate_value(n) / WIDTH, 1), round(HIGH * (1.0 - power), 1)

    reached = dict(zip(topics, powers, strict=True))
    marked = {"now": plan.topics, "present": plan.present if plan.present != plan.topics else 0}
    return {
        "line": " ".join(f"{x},{y}" for x, y in map(locate, topics, powers)),
        "ticks": [(locate(tick, 0.0)[0], f"{tick:,.0f}") for tick in across.ticks if tick >= 0],
        "levels": [(locate(0, level)[1], f"{level:.0%}") for level in (0.0, 0.25, 0.5, 0.75, 1.0)],
        "target": locate(0, plan.power)[1],
        **{name: (*locate(n, reached[n]), reached[n]) if n else None for name, n in marked.items()},
        "wide": WIDE,
        "high": HIGH,
    }
