"""The one runner of all papers: data in, steps run or resumed, tables, figures and verdicts out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from shardwise.core.arguments import Progress
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.scores import as_scores, level_names
from shardwise.io.collection import Collection
from shardwise.papers.exhibit import Exhibit, Frames, PaperClaim, Replication, decide_claim
from shardwise.papers.steps import Step, make_key, run_steps
from shardwise.scoring.scoring import score

NO_DOCUMENTS = "a table of scores has no documents to divide"
SOME = 8
"""Topics that a note names."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperData:
    """What an experiment works on.

    Parameters
    ----------
    scores : Dataset
        Scores of every measure on the whole collection.
    collection : Collection, optional
        Runs and judgments; None for a table of scores.
    notes : tuple of str
        What was averaged or left out.
    """

    scores: xr.Dataset
    collection: Collection | None = None
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """Name of the first measure."""
        return str(next(iter(self.scores.data_vars)))

    @property
    def description(self) -> str:
        """The data in one line."""
        if self.collection is not None:
            return str(self.collection).splitlines()[0]
        sizes = self.scores.sizes
        return ", ".join(format_count(sizes[d], d) for d in ("system", "instance", "topic") if d in sizes)


@dataclass(frozen=True, kw_only=True)
class PaperExperiment:
    """Base of all experiments: a paper is one subclass whose fields are its options.

    A subclass states ``tag``, ``title`` and ``claims`` and defines `gather_data`, `list_steps` and
    `build_exhibits`; `run` does the rest.

    Parameters
    ----------
    seed : int
        Seed of all random numbers.
    jobs : int, optional
        Number of threads; all processors, if None.
    """

    tag: ClassVar[str]
    title: ClassVar[str]
    claims: ClassVar[tuple[PaperClaim, ...]] = ()

    seed: int = 0
    jobs: int | None = None

    def gather_data(self, data: Any) -> PaperData:
        """Return the data as the steps take them, or refuse them.

        Parameters
        ----------
        data : object
            Whatever the caller has.

        Returns
        -------
        PaperData
            Scores, and runs where there are any.
        """
        raise NotImplementedError

    def list_steps(self, source: PaperData) -> Mapping[str, Step]:
        """Return the steps by name; each returns frames and can be pickled.

        Parameters
        ----------
        source : PaperData
            The data.

        Returns
        -------
        Mapping
            Functions without arguments.
        """
        raise NotImplementedError

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Yield tables and figures.

        Parameters
        ----------
        frames : dict of DataFrame
            Rows of all steps.
        source : PaperData
            The data.

        Yields
        ------
        Exhibit
            In the order of the paper.
        """
        raise NotImplementedError

    def list_facts(self, source: PaperData) -> dict[str, str]:
        """Return options and sizes to state, by name.

        Parameters
        ----------
        source : PaperData
            The data.

        Returns
        -------
        dict
            Short texts.
        """
        return {}

    def explain_absence(self, source: PaperData) -> str:
        """Return why some tables cannot be made from these data; empty if all can.

        Parameters
        ----------
        source : PaperData
            The data.

        Returns
        -------
        str
            One clause.
        """
        return NO_DOCUMENTS if source.collection is None else ""

    def list_choices(self) -> dict[str, Any]:
        """Return the options that change results.

        Returns
        -------
        dict
            Values by name.
        """
        return {name: value for name, value in asdict(self).items() if name != "jobs"}

    def make_key(self, source: PaperData) -> str:
        """Return one word for the data and options, under which finished steps are kept.

        Parameters
        ----------
        source : PaperData
            The data.

        Returns
        -------
        str
            Name of a folder.
        """
        sources = (source.scores,) if source.collection is None else (source.collection, source.scores)
        return make_key(self.tag, *sources, **self.list_choices())

    def run(
        self,
        data: Any,
        *,
        executor: Executor | None = None,
        folder: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Replication:
        """Run the experiment on some data.

        Parameters
        ----------
        data : object
            Runs and judgments as `read_collection` returns them, or any table that `as_scores` takes.
        executor : Executor, optional
            Runs the steps side by side.
        folder : path, optional
            Where finished steps are kept, so that the same call resumes there.
        progress : callable, optional
            Called with (steps done, steps in all).

        Returns
        -------
        Replication
            Verdicts, tables and figures.
        """
        source = self.gather_data(data)
        frames = run_steps(self.list_steps(source), self.make_key(source), folder, progress, executor)
        exhibits = tuple(self.build_exhibits(frames, source))
        absence = self.explain_absence(source)
        verdicts = tuple(decide_claim(claim, frames, absence) for claim in self.claims)
        facts = {"data": source.description, **self.list_facts(source)}
        if absence:
            facts["not made"] = absence
        return Replication(self.tag, self.title, exhibits, facts, source.notes, verdicts)


def replicate_paper(experiment: type[PaperExperiment], data: Any, **choices: Any) -> Replication:
    """Run the experiment of a paper with some options.

    Parameters
    ----------
    experiment : type
        Its class.
    data : object
        The data, as for `PaperExperiment.run`.
    **choices : object
        Fields of the class, and ``executor``, ``folder`` and ``progress`` of `PaperExperiment.run`.

    Returns
    -------
    Replication
        Verdicts, tables and figures.
    """
    running = {name: choices.pop(name) for name in ("executor", "folder", "progress") if name in choices}
    return experiment(**choices).run(data, **running)


def gather_scores(
    data: Any, measures: tuple[str, ...], jobs: int | None = None, *, complete: bool = True
) -> PaperData:
    """Score runs, or take a table; average repeats; leave out topics with gaps.

    Parameters
    ----------
    data : object
        Runs and judgments, a dataset of several measures, or any table that `as_scores` takes.
    measures : tuple of str
        Measures of runs; a table has its own.
    jobs : int, optional
        Number of threads.
    complete : bool
        Whether topics that some system lacks are left out.

    Returns
    -------
    PaperData
        Scores by topic and system.
    """
    notes: list[str] = []
    if isinstance(data, Collection):
        scores = score(data, list(measures), jobs=jobs)
    else:
        scores = _take_tables(data)
        if "instance" in scores.dims:
            repeats = scores.sizes["instance"]
            notes.append(
                f"Scores are averaged over {format_count(repeats, 'repeat')}; the paper has one run per system."
            )
            # repeats that are missing do not count
            scores = scores.mean("instance", skipna=True)
        if extra := [str(d) for d in scores.dims if d not in ("topic", "system")]:
            raise InputError(
                f"unexpected dimension {extra[0]!r}", remedy="select one or average over it first"
            )
    if complete:
        scores, left_out = drop_topics(scores)
        notes += left_out
    return PaperData(scores, data if isinstance(data, Collection) else None, tuple(notes))


def _take_tables(data: Any) -> xr.Dataset:
    """Return a dataset of all measures of a table."""
    if isinstance(data, xr.Dataset):
        tables = [as_scores(data[name]).rename(str(name)) for name in data.data_vars]
    else:
        table = as_scores(data)
        tables = [table.rename(str(table.name or "score"))]
    if not tables:
        raise InputError("has no scores", remedy="give a table with one score per topic and system")
    # attributes describe one table, and differ between measures
    return xr.Dataset({str(table.name): table.drop_attrs() for table in tables})


def drop_topics(scores: xr.Dataset) -> tuple[xr.Dataset, tuple[str, ...]]:
    """Leave out topics that some system lacks in some measure.

    Parameters
    ----------
    scores : Dataset
        Scores by topic and system, perhaps by more.

    Returns
    -------
    scores : Dataset
        Complete scores.
    notes : tuple of str
        Which topics were left out, if any.
    """
    first = scores[next(iter(scores.data_vars))]
    names = np.array(level_names(first, "topic"))
    whole = np.ones(names.size, dtype=bool)
    for table in scores.data_vars.values():
        whole &= table.notnull().all([d for d in table.dims if d != "topic"]).to_numpy()
    if whole.all():
        return scores, ()
    gaps = f"{format_count(int((~whole).sum()), 'topic')} of {names.size}"
    if whole.sum() < 2:
        raise InputError(
            f"{gaps} lack the score of some system, which leaves {int(whole.sum())}",
            remedy="leave out the systems with gaps, or complete the table",
        )
    note = f"{gaps} lack a score of some system and are left out: {name_topics(names[~whole].tolist())}."
    return scores.isel(topic=np.flatnonzero(whole)), (note,)


def name_topics(names: list[str]) -> str:
    """Return the first few names, and how many more there are.

    >>> name_topics(["301", "302"])
    '301, 302'
    """
    more = f" and {len(names) - SOME} more" if len(names) > SOME else ""
    return ", ".join(map(str, names[:SOME])) + more
