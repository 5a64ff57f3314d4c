"""What scores are made of: standard deviations of every effect, given or estimated from scores.

y = mean + topic + system + shard + topic:system + topic:shard + system:shard + instance + error (F19 MD6; instances
nested in systems as in J15 eq. 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import xarray as xr

from shardwise.core import late
from shardwise.core.arrays import Floats
from shardwise.core.errors import Either, InputError
from shardwise.core.model import MD1, MD6
from shardwise.io.instances import DETERMINISTIC
from shardwise.numerics.balanced import decompose
from shardwise.numerics.mixed import balanced as mixed_balanced

EFFECTS = {
    "topic": ("topic",),
    "shard": ("shard",),
    "topic_system": ("topic", "system"),
    "topic_shard": ("topic", "shard"),
    "system_shard": ("system", "shard"),
    "instance": ("system", "instance"),
}  # every random effect but the error, which has all dimensions
LAYOUTS = (
    ("topic", "system"),
    ("topic", "system", "shard"),
    ("topic", "system", "instance"),
    ("split", "topic", "system", "shard"),
)


@dataclass(frozen=True, slots=True)
class ScoreComponents:
    """Standard deviations of the effects that make up a score, and the grand mean.

    ``system`` is the spread of the true system means. ``negative`` names effects whose variance was estimated below 0
    and counts as 0.

    >>> ScoreComponents.of({"topic": .2, "topic:system": .08, "error": .06}).topic_system
    0.08
    """

    topic: float = 0.0
    system: float = 0.0
    shard: float = 0.0
    topic_system: float = 0.0
    topic_shard: float = 0.0
    system_shard: float = 0.0
    instance: float = 0.0
    error: float = 0.0
    mean: float = 0.3
    negative: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.effects():
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise InputError(
                    f"{name.replace('_', ':')} = {value:g}: a standard deviation cannot be below 0",
                    remedy="give 0 or more",
                )
        if not np.isfinite(self.mean):
            raise InputError(f"mean = {self.mean:g} is not a number", remedy="give one, such as 0.3")

    @staticmethod
    def effects() -> tuple[str, ...]:
        """Names of the standard deviations."""
        names = (field.name for field in fields(ScoreComponents))
        return tuple(name for name in names if name not in ("mean", "negative"))

    @classmethod
    def of(cls, sd: Mapping[str, float]) -> ScoreComponents:
        """Read a mapping whose keys are effects, written ``topic:system`` or ``topic_system``, or ``mean``."""
        known = {**{name: name for name in (*cls.effects(), "mean")}, "system:instance": "instance"}
        known |= {name.replace("_", ":"): name for name in cls.effects()}
        found: dict[str, float] = {}
        for key, value in sd.items():
            name = known.get(str(key), known.get(":".join(reversed(str(key).split(":")))))
            if name is None:
                raise InputError(
                    f"there is no effect {key!r}",
                    remedy=f"name some of {', '.join(n.replace('_', ':') for n in cls.effects())}",
                )
            found[name] = float(value)
        return cls(**found, negative=())

    def plot(self) -> Any:
        """Draw the share of each variance: an altair chart."""
        return late.call("chart", self)

    def __str__(self) -> str:
        parts = [f"{n.replace('_', ':')} {getattr(self, n):.3g}" for n in self.effects() if getattr(self, n)]
        note = f" (estimated below 0, counted as 0: {', '.join(self.negative)})" if self.negative else ""
        return f"mean {self.mean:.3g}; standard deviations {', '.join(parts) or 'all 0'}{note}"


def variances_of(sd: ScoreComponents) -> dict[str, float]:
    """Variances of all effects but the systems' own."""
    return {name: float(getattr(sd, name)) ** 2 for name in sd.effects() if name != "system"}


def score_components(scores: xr.DataArray) -> ScoreComponents:
    """Estimate the components from mean squares, each equated with its expectation.

    Takes topic × system, topic × system × shard, topic × system × instance (instances a system's own) and splits of
    topic × system × shard, whose variances are averaged over the splits. Without shards or instances topic:system
    cannot be told from the error and is counted there.

    >>> y = np.random.default_rng(1).normal(size=(60, 8, 5))
    >>> c = score_components(xr.DataArray(y, dims=("topic", "system", "shard")))
    >>> round(c.error, 1), c.topic < .2
    (1.0, True)
    """
    dims = layout_of(scores)
    y = checked_scores(scores)
    if DETERMINISTIC in scores.coords and bool(np.any(scores[DETERMINISTIC])):
        raise InputError(
            "deterministic systems do not show how instances vary",
            remedy=("estimate from the others", Either(": scores.sel(system=~scores.deterministic)", "")),
        )
    if dims[0] == "split":
        each = [_of_shards(table) for table in y]
        variances = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    elif dims[-1] == "shard":
        variances = _of_shards(y)
    elif dims[-1] == "instance":
        variances = _of_instances(y)
    else:
        variances = _of_topics(y)
    return ScoreComponents(
        mean=float(y.mean()),
        negative=tuple(name.replace("_", ":") for name, value in variances.items() if value < 0),
        **{name: float(np.sqrt(max(value, 0.0))) for name, value in variances.items()},
    )


def layout_of(scores: xr.DataArray) -> tuple[str, ...]:
    """The dimensions of scores in the package's order, or a refusal."""
    if isinstance(scores, xr.DataArray):
        for dims in LAYOUTS:
            if set(dims) == set(scores.dims):
                return dims
    found = ", ".join(map(str, getattr(scores, "dims", ()))) or type(scores).__name__
    raise InputError(
        f"scores have {found} instead of the dimensions topic and system, with shard or instance",
        remedy=("choose one measure, as in ", Either("scores['AP']", "--measure AP")),
    )


def checked_scores(scores: xr.DataArray) -> Floats:
    """Scores in the package's order; refused where one is undefined or a dimension has one level."""
    dims = layout_of(scores)
    y = np.asarray(scores.transpose(*dims).to_numpy(), dtype=float)
    for dim, size in zip(dims, y.shape, strict=True):
        if size < 2 and dim != "split":
            raise InputError(f"there is {size} {dim}", remedy="each varies only if there are two")
    lost = int((~np.isfinite(y)).sum())
    if lost:
        raise InputError(
            f"{lost} scores are undefined",
            remedy=(
                "fill them first, as with ",
                Either("fill_undefined(scores, 'zero')", "--fill zero"),
                ", or drop these topics",
            ),
        )
    return y


def _of_topics(y: Floats) -> dict[str, float]:
    """MD1: E[MS_t] = σ²_e + Rσ²_t, E[MS_s] = σ²_e + Tσ²_s."""
    t, r = y.shape
    ms, error = _mean_squares(y, ("topic", "system"))
    return {"topic": (ms["topic"] - error) / r, "system": (ms["system"] - error) / t, "error": error}


def _of_shards(y: Floats) -> dict[str, float]:
    """MD6, every effect random: an interaction's mean square over the error, a main effect's over its interactions."""
    t, r, s = y.shape
    ms, error = _mean_squares(y, ("topic", "system", "shard"))
    ts, tk, sk = ms["topic:system"], ms["topic:shard"], ms["system:shard"]
    return {
        "topic": (ms["topic"] - ts - tk + error) / (r * s),
        "system": (ms["system"] - ts - sk + error) / (t * s),
        "shard": (ms["shard"] - tk - sk + error) / (t * r),
        "topic_system": (ts - error) / s,
        "topic_shard": (tk - error) / r,
        "system_shard": (sk - error) / t,
        "error": error,
    }


def _of_instances(y: Floats) -> dict[str, float]:
    """J15 eq. 9 with nested instances, from the four lines and the mean square of the systems."""
    n, l, m = y.shape  # noqa: E741
    lines = mixed_balanced.lines(y.transpose(1, 2, 0), "nested")
    topic, topic_system, instance, error = map(float, lines.ms)
    system = float(m * n * lines.means.var(ddof=1))
    return {
        "topic": (topic - topic_system) / (l * m),
        "system": (system - topic_system - instance + error) / (m * n),
        "topic_system": (topic_system - error) / m,
        "instance": (instance - error) / n,
        "error": error,
    }


def _mean_squares(y: Floats, dims: tuple[str, ...]) -> tuple[dict[str, float], float]:
    """Mean squares of all terms by name, and that of the error."""
    parts = decompose(y, dims, (MD1 if len(dims) == 2 else MD6).sets)
    assert parts is not None  # undefined scores were refused before
    named = {":".join(d for d in dims if d in term): parts.ss[term] / parts.df[term] for term in parts.ss}
    return named, parts.ss_error / parts.df_error
