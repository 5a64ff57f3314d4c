"""Experiments with the arguments of PyTerrier: pipelines, topics, judgments, measures; all pairs are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import analyze
from shardwise.core.errors import InputError
from shardwise.integrations.tracking import flatten_result
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.io.trec.conventions import Conventions
from shardwise.scoring.scoring import score

_TOPIC = ("qid", "query_id", "topic")


class Experiment:
    """Run systems on topics, score them, and compare all pairs of systems, corrected, for each measure.

    The arguments are those of PyTerrier's ``pt.Experiment``. A topic without results counts 0, as there.

    Parameters
    ----------
    systems : sequence or mapping
        Pipelines: objects with ``transform`` or functions that turn the topics, a data frame, into results with the
        columns of PyTerrier (``qid, docno, score``) or ir_measures; or results that are there already: data frames,
        dictionaries ``{topic: {document: score}}``, or paths of run files. A mapping names them.
    topics : data frame or sequence of str or None
        Topics to run, with a column ``qid``; only those count. None where all systems are results.
    qrels : data frame or dictionary or path
        Judgments, as `read_collection` takes them.
    measures : sequence
        Names of measures, or measures of ir_measures.
    names : sequence of str, optional
        Names of the systems; without it those of a mapping, else how the systems print themselves.
    baseline : str, optional
        The system with which all others are compared, instead of all pairs; or its place among the systems.
    like : str or Conventions
        Conventions, as for `read_collection`.
    jobs : int, optional
        Threads; None for as many as there are processors.
    choices : Any
        Further choices of `analyze`, such as ``method``, ``alpha`` or ``generalize``.

    Examples
    --------
    >>> qrels = {str(t): {"d1": 1, "d2": 0} for t in range(8)}
    >>> good = {str(t): {"d1": 2.0, "d2": 1.0} for t in range(8)}
    >>> poor = {str(t): {"d2": 2.0, "d1": 1.0 if t else 3.0} for t in range(8)}
    >>> experiment = Experiment({"good": good, "poor": poor}, None, qrels, ["RR", "P@1"])
    >>> experiment.to_frame()[["RR", "P@1"]]
              RR    P@1
    system
    good    1.0000  1.000
    poor    0.5625  0.125
    >>> experiment.pairs()[["measure", "a", "b", "difference"]]
      measure     a     b  difference
    0      RR  good  poor      0.4375
    1     P@1  good  poor      0.8750
    """

    def __init__(
        self,
        systems: Sequence[Any] | Mapping[str, Any],
        topics: Any,
        qrels: Any,
        measures: Sequence[Any],
        names: Sequence[str] | None = None,
        *,
        baseline: str | int | None = None,
        like: str | Conventions = "ir_measures",
        jobs: int | None = None,
        **choices: Any,
    ) -> None:
        pipelines = list(systems.values()) if isinstance(systems, Mapping) else list(systems)
        if len(pipelines) < 2:
            raise InputError(
                "an experiment needs two systems or more", remedy="give another one to compare with"
            )
        labels = _name_systems(systems, pipelines, names)
        wanted = topics
        if isinstance(topics, pd.DataFrame):
            column = next((name for name in _TOPIC if name in topics.columns), None)
            if column is None:
                raise InputError(
                    f"the topics have no column {' or '.join(_TOPIC)}", remedy="name the column of topics qid"
                )
            wanted = topics[column]
        runs = {
            label: _run_system(system, label, topics) for label, system in zip(labels, pipelines, strict=True)
        }
        names_of_topics = None if wanted is None else [str(topic) for topic in wanted]
        self.collection: Collection = _read_runs(runs, qrels, names_of_topics, like, jobs)
        self.scores: xr.Dataset = score(self.collection, list(measures), jobs=jobs)
        base = labels[baseline] if isinstance(baseline, int) else baseline
        if base is not None:
            choices["baseline"] = base
        self.analyses: dict[str, Analysis] = {
            str(name): analyze(values, **choices) for name, values in self.scores.data_vars.items()
        }

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, in the order given."""
        return self.collection.systems

    def to_frame(self) -> pd.DataFrame:
        """Return the mean of every measure by system, as PyTerrier's table.

        Returns
        -------
        DataFrame
            One row a system, one column a measure, in the order given.
        """
        return self.scores.mean("topic").to_dataframe()[list(self.scores.data_vars)]

    def pairs(self) -> pd.DataFrame:
        """Return all pairs of systems for all measures, p-values corrected within a measure.

        Returns
        -------
        DataFrame
            Columns of ``Comparisons.to_frame``, with ``measure`` before them.
        """
        frames = [
            result.comparisons.to_frame().assign(measure=measure) for measure, result in self.analyses.items()
        ]
        table = pd.concat(frames, ignore_index=True)
        return table[["measure", *(name for name in table.columns if name != "measure")]]

    def per_topic(self) -> pd.DataFrame:
        """Return the score of every system on every topic, as ``pt.Experiment(perquery=True)`` does.

        Returns
        -------
        DataFrame
            Columns ``name``, ``qid``, ``measure`` and ``value``.
        """
        table = self.scores.to_array("measure").to_dataframe("value").reset_index()
        return table.rename(columns={"system": "name", "topic": "qid"})[["name", "qid", "measure", "value"]]

    def to_dict(self) -> dict[str, float]:
        """Return all figures as one flat dictionary, for trackers.

        Returns
        -------
        dict of str to float
            Keys begin with the measure; see `shardwise.integrations.tracking.flatten_result`.
        """
        figures: dict[str, float] = {}
        for measure, result in self.analyses.items():
            figures |= flatten_result(result, prefix=measure)
        return figures

    def __str__(self) -> str:
        parts = [self.to_frame().round(4).to_string(), self.collection.conventions.sentence]
        return "\n\n".join([*parts, *(str(result) for result in self.analyses.values())])

    def __repr__(self) -> str:
        return f"<Experiment: {len(self.systems)} systems, {', '.join(self.analyses)}>"

    def _repr_html_(self) -> str:
        """Show the table of means and the answer for each measure in a notebook."""
        answers = "".join(result._repr_html_() for result in self.analyses.values())
        return self.to_frame().round(4).to_html() + answers


def _name_systems(
    systems: Sequence[Any] | Mapping[str, Any], pipelines: Sequence[Any], names: Sequence[str] | None
) -> list[str]:
    """Names of the systems, each once."""
    if names is not None:
        labels = [str(name) for name in names]
        if len(labels) != len(pipelines):
            raise InputError(
                f"{len(labels)} names for {len(pipelines)} systems",
                remedy="give one name a system",
                argument="names",
            )
    elif isinstance(systems, Mapping):
        labels = [str(name) for name in systems]
    else:
        labels = []
        for number, system in enumerate(pipelines, start=1):
            # how a pipeline prints itself; results have no name of their own
            is_pipeline = hasattr(system, "transform") and not isinstance(system, pd.DataFrame)
            name = getattr(system, "__name__", "") or (str(system) if is_pipeline else "")
            labels.append(system if isinstance(system, str) else name or f"system{number}")
    if len(set(labels)) < len(labels):
        raise InputError(
            "two systems have the same name", remedy="give names, or a mapping from names to systems"
        )
    return labels


def _run_system(system: Any, label: str, topics: Any) -> Any:
    """Run a pipeline on the topics; results stay as they are."""
    if isinstance(system, pd.DataFrame | Mapping | str) or not (
        callable(system) or hasattr(system, "transform")
    ):
        return system
    if topics is None:
        raise InputError(f"system {label!r} has to be run, and there are no topics", remedy="give topics")
    return system.transform(topics) if hasattr(system, "transform") else system(topics)


def _read_runs(
    runs: Mapping[str, Any], qrels: Any, wanted: list[str] | None, like: str | Conventions, jobs: int | None
) -> Collection:
    """Read results and judgments; topics that are not judged are left out."""
    if all(isinstance(run, str) for run in runs.values()):
        source: Any = list(runs.values())
    else:
        # a column of names could be taken for those of several systems
        names = ["name", "system", "run", "run_id", "tag"]
        source = {
            label: run.drop(columns=names, errors="ignore") if isinstance(run, pd.DataFrame) else run
            for label, run in runs.items()
        }
    judged = None
    if wanted is not None:
        known = set(read_collection(source, qrels, names=list(runs), like=like, jobs=jobs).topics)
        judged = [topic for topic in dict.fromkeys(wanted) if topic in known]
        if not judged:
            raise InputError("no topic is judged", remedy="check that topics and judgments belong together")
    return read_collection(source, qrels, names=list(runs), like=like, topics=judged, jobs=jobs)
