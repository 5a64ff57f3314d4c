"""What sliders say -> what so many topics and seeds can show, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from shardwise.core.variance_components import VarianceComponents
from shardwise.planning.repeats import evaluate_design, plan_from_components
from shardwise.planning.topics import min_diff_at, power_at, topics_for_power, width_at
from shardwise.writing.planning import write_repeat_plan

AROUND = (0.5, 1.0, 2.0, 4.0)  # times the topics, to see what more of them buy


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

    @classmethod
    def parse_query(cls, query: Mapping[str, str], sources: Sequence[Mapping[str, Any]] = ()) -> PlanForm:
        """Return what a query says, within what makes sense; what it does not say is as usual.

        Parameters
        ----------
        query
            Fields of the form.
        sources
            Analyses whose variance can be taken: id, variance, components.

        >>> PlanForm.parse_query({"topics": "80", "alpha": "7"}).topics, PlanForm.parse_query({"alpha": "x"}).alpha
        (80, 0.05)
        """
        known: dict[str, Any] = {}
        for item in fields(cls):
            text = query.get(item.name, "")
            if item.name in BOUNDS:
                low, high = BOUNDS[item.name]
                try:
                    number = float(text)
                except ValueError:
                    continue
                if math.isfinite(number):
                    number = min(max(number, low), high)
                    known[item.name] = int(number) if isinstance(item.default, int) else number
        source = next((item for item in sources if item["id"] == query.get("source")), None)
        if source is not None:
            parts = source.get("components") or {}
            known |= {
                "source": str(source["id"]),
                "variance": float(f"{parts.get('topic:system') or source['variance']:.3g}"),
                "between_seeds": float(f"{parts.get('system:instance', 0.0):.3g}"),
                "within_seeds": float(f"{parts.get('error', 0.0):.3g}")
                if "system:instance" in parts
                else 0.0,
            }
        return cls(**known)

    @property
    def price(self) -> float:
        """What it costs: topics, judgments, and answers of every seed of every system."""
        return self.price_with(self.topics)

    def price_with(self, topics: int) -> float:
        """Return what it costs with another number of topics.

        Parameters
        ----------
        topics
            That number.

        >>> PlanForm(topics=10, depth=100, per_judgment=.5, per_topic=2).price_with(20)
        1040.0
        """
        return topics * (self.each_topic + self.systems * self.seeds * self.per_answer)

    @property
    def each_topic(self) -> float:
        """What a topic costs before any system has answered it."""
        return self.per_topic + self.depth * self.per_judgment

    @property
    def has_seeds(self) -> bool:
        """Whether seeds are planned for, and something is known of what they do."""
        return self.seeds > 1 and self.between_seeds + self.within_seeds > 0.0

    @property
    def components(self) -> VarianceComponents:
        """What scores vary by."""
        return VarianceComponents(
            {"topic:system": self.variance, "system:instance": self.between_seeds, "error": self.within_seeds}
        )


BOUNDS: dict[str, tuple[float, float]] = {
    "topics": (2, 2000), "systems": (2, 500), "seeds": (1, 100), "depth": (0, 10_000), "min_diff": (0.001, 10.0),
    "alpha": (0.001, 0.2), "power": (0.5, 0.99), "variance": (1e-6, 1e4), "between_seeds": (0.0, 1e4),
    "within_seeds": (0.0, 1e4), "per_topic": (0.0, 1e9), "per_judgment": (0.0, 1e9), "per_answer": (0.0, 1e9),
}  # fmt: skip


def compute_figures(plan: PlanForm) -> dict[str, Any]:
    """Return what a design reaches: the numbers of ``shardwise design``, and the price.

    Parameters
    ----------
    plan
        The design.
    """
    around = sorted({max(2, round(plan.topics * times)) for times in AROUND})
    reached = _plan_with_seeds(plan, around) if plan.has_seeds else _plan_without_seeds(plan, around)
    return {**reached, "price": plan.price, "priced": plan.price > 0.0}


def _plan_without_seeds(plan: PlanForm, around: Sequence[int]) -> dict[str, Any]:
    """One score of each system on each topic: any two of all systems by the default test, and two chosen in advance."""
    basis: dict[str, Any] = {"variance": plan.variance + plan.within_seeds, "alpha": plan.alpha}
    pair: dict[str, Any] = {**basis, "method": "paired-t"}
    all_of: dict[str, Any] = {**basis, "method": "moderated", "systems": plan.systems}
    rows = [
        {
            "topics": n,
            "two": float(min_diff_at(n=n, power=plan.power, **pair)),
            "all": float(min_diff_at(n=n, power=plan.power, **all_of)),
            "half_width": float(width_at(n=n, **basis)) / 2.0,
            "chance": float(power_at(n=n, min_diff=plan.min_diff, **all_of)),
            "price": plan.price_with(n),
        }
        for n in around
    ]
    need = {
        "two": int(topics_for_power(min_diff=plan.min_diff, power=plan.power, **pair)),
        "all": int(topics_for_power(min_diff=plan.min_diff, power=plan.power, **all_of)),
    }
    return {"rows": rows, "now": next(row for row in rows if row["topics"] == plan.topics), "need": need}


def _plan_with_seeds(plan: PlanForm, around: Sequence[int]) -> dict[str, Any]:
    """Several seeds or samples of each system: any two of all systems by the default test."""
    kind = "seeds" if plan.between_seeds > 0.0 else "samples"
    how: dict[str, Any] = {
        "systems": plan.systems,
        "min_diff": plan.min_diff,
        "power": plan.power,
        "alpha": plan.alpha,
    }
    costs: dict[str, Any] = {"topic_cost": plan.each_topic, "answer_cost": plan.per_answer}
    rows = []
    for n in around:
        now = evaluate_design(plan.components, kind, items=n, repeats=plan.seeds, **how)
        rows.append(
            {
                "topics": n,
                "half_width": now.half_width,
                "chance": now.power,
                "all": now.detectable,
                "price": plan.price_with(n),
            }
        )
    design = plan_from_components(
        plan.components, kind, items=plan.topics, repeats=plan.seeds, **how, **costs
    )
    return {
        "rows": rows,
        "now": next(row for row in rows if row["topics"] == plan.topics),
        "sentences": write_repeat_plan(design, {}, priced=plan.price > 0.0),
        "need": {
            "topics": None if design.more_items is None else design.more_items.items,
            "seeds": None if design.more_repeats is None else design.more_repeats.repeats,
        },
    }
