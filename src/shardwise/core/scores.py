"""The only gate for scores: whatever a user holds becomes a labelled array with canonical dimensions.

Inside the package a score belongs to a topic and a system, perhaps to a shard, split, instance or task. Users say
question, model and seed; their words are kept as attributes (``topic_noun`` and so on) and return in every sentence.

A score is *undefined* where it has no meaning for any system (a topic without relevant documents in a shard), and
*missing* where it has one that is not there (a seed not run, an empty cell). Undefined cells can be filled by a
policy; missing ones are left out or refused, and never invented.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from shardwise.core import late
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import DIMENSIONS, pluralize_noun
from shardwise.core.errors import Either, InputError
from shardwise.core.measure import BY_NAME, DECLARED, UNNAMED, MeasureFacts, find_range, is_lower_better

SYNONYMS = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "item", "item_id", "question", "question_id", "prompt",
              "prompt_id", "example", "example_id", "sample", "sample_id", "doc_id", "problem", "problem_id", "case",
              "case_id", "test_case", "instance_id"),
    "system": ("system", "system_id", "system_name", "run", "run_id", "runid", "name", "tag", "model", "model_name",
               "model_id", "engine", "checkpoint", "retriever"),
    "shard": ("shard",),
    "split": ("split",),
    "instance": ("instance", "replicate", "seed", "epoch", "trial", "trial_id", "repeat", "repetition", "rep",
                 "attempt", "random_seed"),
    "task": ("task",),
}  # fmt: skip
SECOND_WORDS = ("sample", "sample_id")
"""Words for an item that name repeats where another dimension has the items."""
ROLE_OF = {word: role for role, words in SYNONYMS.items() for word in words}
SUFFIXES = ("_id", "_name")
LARGEST = 1e100  # of scores; the largest of a table is no smaller than its inverse


HUMAN, CLUSTER, TASK, DETERMINISTIC = "human", "cluster", "task", "deterministic"
"""Coordinates: people's scores along topic and system, the cluster and the task of a topic, whether a system has copies
of one instance."""
SLICE_PREFIX = "slice:"
"""What stands before the name of a coordinate of slices that would otherwise be another's, such as split."""
RANGE, UNBOUNDED, LOWER_IS_BETTER = "range", "unbounded", "lower_is_better"
RANGE_FROM, DIRECTION_FROM = "range_from", "direction_from"
REPEATS, AVERAGED = "repeats_kind", "averaged"
"""Attributes: limits of scores, whether the measure has none, whether small scores are good, how these are known, what
instances are, what was averaged first."""
UNIT_DF, UNIT_SCALE, UNIT_SCOPE = "unit_df", "unit_scale", "unit_words"
"""Attributes of scores of units (clusters, tasks): the df of a variance over them, the spread of single items by which
effect sizes are measured, and what a claim says of them beside their number."""
VOTES = "votes"
"""Attribute of scores that are strengths fitted to votes: what is known of the votes and of the strengths' errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores that passed the gate: one labelled array, and all that is known of it as typed fields.

    Whoever holds `Scores` need not check them again, and nobody else looks for coordinates or attributes by name.

    Parameters
    ----------
    array : DataArray
        Scores by topic and system, perhaps shard, split or instance, as `as_scores` returns them.
    slices : tuple of str
        A label for each topic, by which answers are broken down; empty where there are none.
    measure : MeasureFacts
        What the scores are of: name, range and direction, with how they are known.

    >>> scores = Scores.of({"gpt": {"q1": 1, "q2": 0}, "llama": {"q1": 0, "q2": 0}})
    >>> level_names(scores.array, "system"), scores.human is None
    (('gpt', 'llama'), True)
    >>> scores.measure.range, scores.measure.lower_is_better
    ((0.0, 1.0), False)
    """

    array: xr.DataArray
    slices: tuple[str, ...] = ()
    measure: MeasureFacts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", measure_of(self.array))

    @classmethod
    def of(cls, data: Any, **options: Any) -> Scores:
        """Pass the gate, once.

        Parameters
        ----------
        data : object
            Anything that `as_scores` takes, or `Scores`, which are returned as they are.
        **options
            Those of `as_scores`.

        Returns
        -------
        Scores
            Checked scores.
        """
        return data if isinstance(data, Scores) else cls(as_scores(data, **options))

    @property
    def nouns(self) -> dict[str, str]:
        """The user's words for dimensions, where they differ from ours."""
        return nouns_of(self.array)

    @property
    def repeats(self) -> str:
        """What instances are, "seeds" or "samples", where the reader of the files knows it."""
        return str(self.array.attrs.get(REPEATS, ""))

    @property
    def human(self) -> Floats | None:
        """(topic, system) scores by people beside those of a judge, NaN where nobody looked."""
        if HUMAN not in self.array.coords:
            return None
        return np.asarray(self.array[HUMAN].transpose("topic", "system").to_numpy(), dtype=float)

    @property
    def votes(self) -> Any:
        """What scores that are strengths fitted to votes carry of these (`VoteScores`); None for other scores."""
        return self.array.attrs.get(VOTES)

    @property
    def cluster(self) -> Ints | None:
        """(topic,) number of each topic's cluster."""
        return self._number_labels(CLUSTER)

    @property
    def task(self) -> Ints | None:
        """(topic,) number of each topic's task, where tasks are labels of topics."""
        return self._number_labels(TASK)

    def _number_labels(self, name: str) -> Ints | None:
        if name not in self.array.coords or self.array[name].dims != ("topic",):
            return None
        return np.unique(self.array[name].values.astype(str), return_inverse=True)[1].astype(np.int64)

    @property
    def deterministic(self) -> tuple[bool, ...]:
        """Whether each system has copies of one instance; empty where nobody said so."""
        if DETERMINISTIC not in self.array.coords:
            return ()
        flags = tuple(bool(flag) for flag in np.atleast_1d(self.array[DETERMINISTIC].to_numpy()))
        return flags if any(flags) else ()

    @property
    def unit_df(self) -> float | None:
        """Degrees of freedom of a variance over units, where topics are clusters or tasks by now."""
        return float(self.array.attrs[UNIT_DF]) if UNIT_DF in self.array.attrs else None

    @property
    def unit_scale(self) -> float | None:
        """Spread of single items by which effect sizes are measured, where topics are units."""
        return float(self.array.attrs[UNIT_SCALE]) if UNIT_SCALE in self.array.attrs else None

    @property
    def unit_scope(self) -> str:
        """What a claim says of units beside their number."""
        return str(self.array.attrs.get(UNIT_SCOPE, ""))


def measure_of(
    scores: xr.DataArray,
    *,
    range: Sequence[float] | None = None,
    lower_is_better: bool | None = None,
    settled: bool = True,
) -> MeasureFacts:
    """Return what is known of the measure of scores: as declared here or in attributes, by its name, or by values.

    ``settled`` trusts a range that the gate found before.
    """
    name, attributes = str(scores.name or UNNAMED), scores.attrs
    source = DECLARED if range is not None else str(attributes.get(RANGE_FROM, DECLARED))
    declared = attributes.get(RANGE) if range is None else range
    limits = None if declared is None else (float(declared[0]), float(declared[1]))
    trusted = settled and RANGE_FROM in attributes
    unknown = declared is None and (RANGE_FROM in attributes or attributes.get(UNBOUNDED))
    if unknown or not isinstance(scores.data, np.ndarray):
        source = source if limits is not None else ""
    elif not trusted:
        limits, source = find_range(name, np.asarray(scores.data, np.float64), limits, source)
    turned, known = direction_of(scores) if lower_is_better is None else (lower_is_better, DECLARED)
    return MeasureFacts(name, limits, turned, source, known)


def direction_of(scores: xr.DataArray) -> tuple[bool, str]:
    """Return whether lower scores are better, and how that is known: declared, by the measure's name, or not."""
    declared = scores.attrs.get(LOWER_IS_BETTER)
    if declared is not None and scores.attrs.get(DIRECTION_FROM, DECLARED) == DECLARED:
        return bool(declared), DECLARED
    turned = is_lower_better(str(scores.name or UNNAMED))
    return turned, BY_NAME if turned else ""


def note_measure(scores: xr.DataArray, measure: MeasureFacts) -> xr.DataArray:
    """Return scores whose attributes say what is known of their measure."""
    noted = scores.assign_attrs(
        {
            RANGE_FROM: measure.range_from,
            LOWER_IS_BETTER: int(measure.lower_is_better),
            DIRECTION_FROM: measure.direction_from,
        }
    )
    if measure.range is None:
        noted.attrs.pop(RANGE, None)
    else:
        noted.attrs[RANGE] = measure.range
    return noted


def declare_measure(
    scores: xr.DataArray, range: Sequence[float] | None, lower_is_better: bool | None
) -> xr.DataArray:
    """Return scores that carry their range and direction: those declared, or what their name and values say."""
    return note_measure(
        scores, measure_of(scores, range=range, lower_is_better=lower_is_better, settled=False)
    )


def slices_of(scores: xr.DataArray) -> dict[str, tuple[str, ...]]:
    """Return the labels that items have besides their names, by which answers may be broken down: column -> labels.

    >>> table = xr.DataArray(np.eye(2), dims=("topic", "system"), coords={"category": ("topic", ["code", "math"])})
    >>> slices_of(table)
    {'category': ('code', 'math')}
    """
    known = ("topic", HUMAN, CLUSTER, DETERMINISTIC)
    return {
        str(name).removeprefix(SLICE_PREFIX): tuple(map(str, labels.values.tolist()))
        for name, labels in scores.coords.items()
        if labels.dims == ("topic",) and name not in known
    }


def turn_scores(scores: xr.DataArray) -> xr.DataArray:
    """Return scores of which higher ones are better: as they are, or turned round within their range or about 0."""
    measure = measure_of(scores)
    if not measure.lower_is_better:
        return scores
    turned = scores.copy(data=sum(measure.range or ()) - scores.to_numpy())
    return note_measure(turned, replace(measure, lower_is_better=False, direction_from=DECLARED))


def declare_measures(
    scores: xr.Dataset, range: Sequence[float] | None, lower_is_better: bool | None
) -> xr.Dataset:
    """Return scores of several measures with the range and direction declared for all, for the gate to understand."""
    declared: dict[str, Any] = {}
    if range is not None:
        declared |= {RANGE: (float(range[0]), float(range[1])), RANGE_FROM: DECLARED}
    if lower_is_better is not None:
        declared |= {LOWER_IS_BETTER: int(lower_is_better), DIRECTION_FROM: DECLARED}
    return (
        scores.assign({name: scores[name].assign_attrs(declared) for name in scores}) if declared else scores
    )


def require_scores(scores: xr.DataArray, what: str) -> xr.DataArray:
    """Return scores of items as they are, and refuse strengths fitted to votes where these say too little.

    Parameters
    ----------
    scores : DataArray
        Scores that passed the gate.
    what : str
        Who needs scores of items.

    Returns
    -------
    DataArray
        The same scores.
    """
    if VOTES in scores.attrs:
        raise InputError(
            f"{what} needs scores of items, and these are votes", remedy="compare them, or give scores"
        )
    return scores


def clean_noun(word: str) -> str:
    """Return the user's word for a dimension as it stands in sentences.

    >>> clean_noun("question_id"), clean_noun("model_name"), clean_noun("qid")
    ('question', 'model', 'topic')
    """
    text = word.lower()
    for suffix in SUFFIXES:
        text = text.removesuffix(suffix)
    return {"qid": "topic", "runid": "run", "doc": "document"}.get(text, text)


def nouns_of(scores: xr.DataArray) -> dict[str, str]:
    """Return the user's words for the dimensions of scores, where they differ from ours."""
    words = {d: str(scores.attrs[f"{d}_noun"]) for d in DIMENSIONS if f"{d}_noun" in scores.attrs}
    return {dimension: noun for dimension, noun in words.items() if noun != dimension}


def is_sample_measure(name: str) -> bool:
    """Return whether a name is that of a measure of samples, which is estimated from repeats of right and wrong.

    >>> is_sample_measure("pass@5"), is_sample_measure("P@5")
    (True, False)
    """
    return name.startswith(("pass@", "pass^"))


def is_unpaired(scores: xr.DataArray) -> bool:
    """Return whether no item has scores of two systems, as where each user sees one variant.

    >>> is_unpaired(xr.DataArray([[1.0, np.nan], [np.nan, 0.0]], dims=("topic", "system")))
    True
    """
    if "system" not in scores.dims or scores.sizes["system"] < 2 or scores.sizes.get("topic", 0) < 2:
        return False
    # by numpy: labels are dear to move
    places = [scores.dims.index(name) for name in ("topic", "system")]
    values = np.moveaxis(scores.values, places, (0, 1))
    if values.dtype.kind != "f" or not np.isnan(values[0]).any():
        return False
    known = ~np.isnan(values.reshape(*values.shape[:2], -1)).all(axis=2)
    return bool((known.sum(axis=1) <= 1).all() and (known.sum(axis=0) > 0).sum() > 1)


def as_scores(
    data: Any,
    *,
    measure: str | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    needs: Iterable[str] = ("topic", "system"),
    only: bool = False,
    keep: Iterable[str] = (),
    range: Sequence[float] | None = None,
    lower_is_better: bool | None = None,
) -> xr.DataArray:
    """Turn whatever holds scores into a labelled array of numbers, or refuse it with the reason.

    Parameters
    ----------
    data : object
        A DataArray; a Dataset of one measure; a wide table (one row a topic, one column a system) or a long one
        (columns such as ``question, model, seed, score``) from pandas, polars or Arrow; a dictionary
        ``{system: {topic: score}}``; results of pytrec_eval, ir_measures or ranx; an array of topics by systems; or
        files that `read_scores` reads.
    measure : str, optional
        Which measure to take, where there are several; or a measure of samples, pass@5 or pass^5.
    columns : mapping, optional
        Which column of a table is what, where its header does not say it, as `read_scores` takes it.
    needs : iterable of str
        Dimensions that must be there.
    only : bool
        Whether no other dimensions may be there.
    keep : iterable of str
        Dimensions that keep the user's name, because a formula speaks of them by it.
    range : (float, float), optional
        Lowest and highest score there can be; without it as the attribute ``range`` says, else by the scores.
    lower_is_better : bool, optional
        Whether small scores are good; without it as the attribute ``lower_is_better`` says, else by the measure's name.

    Returns
    -------
    DataArray
        Scores by topic and system, perhaps shard, split, instance or task, with what is known of the measure.

    >>> table = as_scores({"gpt": {"q1": 1, "q2": 0}, "llama": {"q1": 0, "q2": 0}})
    >>> table.dims, table.sel(topic="q1", system="gpt").item()
    (('topic', 'system'), 1.0)
    >>> nouns_of(as_scores(xr.DataArray([[0.5, 0.6]], dims=("question", "model"))))
    {'topic': 'question', 'system': 'model'}
    """
    is_made = isinstance(data, xr.DataArray) and data.name == measure
    if measure is not None and is_sample_measure(measure) and not is_made:
        options = {"needs": needs, "only": only, "keep": keep, **({"columns": columns} if columns else {})}
        options |= {"lower_is_better": lower_is_better}
        made: xr.DataArray = late.call_bound("sample_measure", data, measure, **options)
        return made
    scores = _select_measure(_label_data(data, measure, columns), measure)
    scores = _rename_dimensions(scores, frozenset(keep))
    if scores.dtype.kind not in "fiub":
        raise InputError(f"scores of type {scores.dtype} are not numbers", remedy="convert them to float")
    if scores.dtype != np.float64:
        scores = scores.astype(np.float64)
    _check_dimensions(scores, tuple(needs), only)
    if isinstance(scores.data, np.ndarray) and scores.size:
        largest = float(np.nanmax(np.abs(scores.data), initial=0.0))
        if np.isinf(largest):
            raise InputError("the scores hold infinite values", remedy="correct or remove them")
        # their squares would be infinite, or underflow
        if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
            raise InputError(
                f"the largest score is {largest:.3g}, which cannot be squared with numbers of this precision",
                remedy=f"{'divide' if largest > LARGEST else 'multiply'} all scores by a power of ten",
            )
    return declare_measure(scores, range, lower_is_better)


def _label_data(
    data: Any, measure: str | None, columns: Mapping[str, str | Sequence[str]] | None
) -> xr.DataArray | xr.Dataset:
    """Give every kind of table its labels; what is no array is read by the room that knows files and objects."""
    labelled = isinstance(data, xr.DataArray | xr.Dataset)
    values = None if labelled else _as_array(data)
    if columns and (labelled or values is not None):
        raise InputError(
            "columns are for tables, and this is an array", remedy="leave it out", argument="columns"
        )
    if labelled:
        array: xr.DataArray | xr.Dataset = data
        return array
    if values is None:
        read: xr.DataArray | xr.Dataset = late.call_bound("scores", data, measure=measure, columns=columns)
        return read
    if values.ndim != 2:
        raise InputError(
            f"an array of {values.ndim} dimensions does not say what they are",
            remedy=(
                "give topics by systems",
                Either(", or a DataArray with dims=('topic', 'system', 'shard')", ""),
            ),
        )
    return xr.DataArray(values, dims=("topic", "system"))


def _as_array(data: Any) -> Any:
    """Return an array of numbers, or None where there is no array; a data frame without labels is one."""
    if type(data).__name__ == "DataFrame":
        # rows and columns that are merely counted from 0
        counted = (type(getattr(data, name, None)).__name__ == "RangeIndex" for name in ("index", "columns"))
        if all(counted) and all(kind.kind in "fiub" for kind in data.dtypes):
            data = data.to_numpy()
    leaf = data
    while isinstance(leaf, list | tuple) and leaf:
        leaf = leaf[0]
    if isinstance(data, np.ndarray) or (
        isinstance(data, list | tuple) and isinstance(leaf, int | float | np.number | np.ndarray)
    ):
        try:
            values = np.asarray(data)
        except ValueError:
            return None
        if values.dtype.kind in "fiub":
            return values
        if isinstance(data, np.ndarray) and values.size:
            raise InputError("the array holds something other than numbers", remedy="convert it to float")
    return None


def _select_measure(data: xr.DataArray | xr.Dataset, measure: str | None) -> xr.DataArray:
    if isinstance(data, xr.DataArray):
        if measure is not None and data.name is not None and str(data.name) != measure:
            raise InputError(
                f"the scores are of {data.name}, not of {measure}", argument="measure", value=measure
            )
        return data
    names = [str(name) for name in data.data_vars]
    measure = measure or data.attrs.get("primary")  # a log says which it shows first
    if measure is None and len(names) != 1:
        raise InputError(
            f"the scores hold {len(names)} measures ({', '.join(names)})",
            remedy=("choose one, as in ", Either(f"scores[{names[0]!r}]", f"--measure {names[0]}"))
            if names
            else "",
            argument="measure",
            choices=names,
        )
    if measure is not None and measure not in names:
        raise InputError(
            f"the scores have no measure {measure!r}",
            remedy=f"they have {', '.join(names)}",
            argument="measure",
            value=measure,
            choices=names,
        )
    scores = data[measure or names[0]]
    return scores.assign_attrs({**data.attrs, **scores.attrs})


def _rename_dimensions(scores: xr.DataArray, keep: frozenset[str]) -> xr.DataArray:
    """Rename the user's dimensions to ours, and keep the user's words as attributes."""
    renamed = {}
    words = {}
    taken = {str(d) for d in scores.dims}
    ranks = {word: rank for rank, word in enumerate(ROLE_OF)}
    for dimension in sorted(taken, key=lambda d: (ranks.get(d.lower(), len(ranks)), d)):
        role = ROLE_OF.get(dimension.lower())
        if role is not None and role != dimension and role not in taken and dimension not in keep:
            renamed[dimension] = role
            taken.add(role)  # of two words for one role, such as question and prompt, the first has it
            if clean_noun(dimension) != role:
                words[f"{role}_noun"] = clean_noun(dimension)
    second = next((str(d) for d in scores.dims if str(d).lower() in SECOND_WORDS), None)
    if second is not None and second not in renamed and second not in keep and "instance" not in taken:
        # Beside questions, samples are repeats.
        renamed[second] = "instance"
        words["instance_noun"] = clean_noun(second)
    if not renamed:
        return scores
    return scores.rename(renamed).assign_attrs({**scores.attrs, **words})


def _check_dimensions(scores: xr.DataArray, needs: tuple[str, ...], only: bool) -> None:
    dimensions = [str(d) for d in scores.dims]
    named = (
        f"the scores have the dimensions {', '.join(dimensions)}"
        if dimensions
        else "the scores have no dimensions"
    )
    absent = [d for d in needs if d not in dimensions]
    if absent:
        raise InputError(
            f"{named}, but no {' and no '.join(absent)}",
            remedy=(
                Either("name the dimensions ", "give a table with the columns "),
                ", ".join(needs),
                Either(", as in scores.rename(query='topic')", ""),
            ),
        )
    extra = [d for d in dimensions if d not in needs]
    if only and extra:
        raise InputError(
            f"{named}, and {extra[0]} is unexpected here",
            remedy=Either(
                f"choose one, as in scores.isel({extra[0]}=0), or average over it: scores.mean({extra[0]!r})",
                f"give a table of one {extra[0]}, or of means over it",
            ),
        )
    for d in needs:
        if scores.sizes[d] == 0:
            raise InputError(f"the scores have no {d}", remedy="read or select some")
        names = level_names(scores, d)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(
                f"two {pluralize_noun(d)} are named {twice!r}", remedy="give them different names"
            )


def level_names(scores: xr.DataArray, dimension: str) -> tuple[str, ...]:
    """Return the names of the levels of a dimension, or their numbers where they have none."""
    return tuple(map(str, scores.get_index(dimension).tolist()))


def layout_of(scores: xr.DataArray) -> tuple[str, ...]:
    """Return the dimensions of scores in the canonical order."""
    dimensions = {str(d) for d in scores.dims}
    return tuple(d for d in DIMENSIONS if d in dimensions) + tuple(sorted(dimensions - set(DIMENSIONS)))


def in_canonical_order(scores: xr.DataArray) -> xr.DataArray:
    """Return the scores with their dimensions in the canonical order."""
    order = layout_of(scores)
    return scores if scores.dims == order else scores.transpose(*order)


def sizes_of(scores: xr.DataArray) -> dict[str, int]:
    """Return the number of levels of every dimension, in the order of the scores."""
    return {str(d): int(n) for d, n in scores.sizes.items()}


def undefined_cells(scores: xr.DataArray) -> xr.DataArray:
    """Return where scores have no meaning for any system: topics without relevant documents (in a shard).

    Only scores on shards, or scores that say they were computed from judgments (they count their ``undefined`` cells),
    can be undefined; an empty cell of any other table is missing.
    """
    empty = scores.isnull()
    judged = "shard" in scores.dims or int(scores.attrs.get("undefined", 0)) > 0
    if "system" not in scores.dims or "instance" in scores.dims or not judged:
        return xr.zeros_like(empty)
    return (empty & empty.all("system")).transpose(*scores.dims)


def missing_cells(scores: xr.DataArray) -> xr.DataArray:
    """Return where a score that has a meaning is not there; an item that met one system alone lacks no other score."""
    if is_unpaired(scores):
        return xr.zeros_like(scores.isnull())
    return scores.isnull() & ~undefined_cells(scores)


def require_complete(scores: xr.DataArray, *, least: Mapping[str, int] | None = None) -> Floats:
    """Return all scores as an array in the canonical order, refusing gaps and dimensions of too few levels.

    Parameters
    ----------
    scores
        A labelled array that passed the gate.
    least
        The number of levels that each dimension needs at least; 2 where nothing is said, 1 for splits.
    """
    dims = layout_of(scores)
    y = np.asarray(scores.transpose(*dims).to_numpy(), dtype=float)
    for dim, size in zip(dims, y.shape, strict=True):
        needed = (least or {}).get(dim, 1 if dim == "split" else 2)
        if size < needed:
            raise InputError(
                f"the scores have {size} {dim if size == 1 else pluralize_noun(dim)}",
                remedy=f"give at least {needed}: how {pluralize_noun(dim)} vary shows only between two",
            )
    gaps = ~np.isfinite(y)
    if gaps.any():
        cell = np.argwhere(gaps)[0]
        names = ", ".join(
            f"{dim} {level_names(scores, dim)[int(i)]}" for dim, i in zip(dims, cell, strict=True)
        )
        raise InputError(
            f"{int(gaps.sum())} of {y.size} scores are undefined or missing, the first for {names}",
            remedy=(
                "drop those topics, or fill what is undefined by a rule: ",
                Either("fill_undefined(scores, 'zero')", "--fill zero"),
                "; a missing score is filled only by a value that you name",
            ),
            argument="scores",
        )
    return y


def average_dimensions(scores: xr.DataArray, over: Sequence[str]) -> xr.DataArray:
    """Return scores averaged over dimensions, refusing those that are not there."""
    for name in over:
        if name not in scores.dims or name in {"topic", "system"}:
            raise InputError(
                f"scores cannot be averaged over {name!r}",
                remedy=f"they have {', '.join(map(str, scores.dims))}",
                argument="average",
                value=tuple(over),
            )
    return scores.mean(tuple(over), skipna=False, keep_attrs=True) if over else scores
