"""Scores of any number of items as what comparisons need of them: counts, means and cross-products."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shardwise.core.arguments import Progress, stream_results, validate_choice
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim, format_count, pluralize_noun
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.shown import Shown
from shardwise.io.archive import load_arrays, save_arrays
from shardwise.methods.moderated.method import ResampledDistribution, gram_statistics, normal_limit
from shardwise.methods.moments.gram import Gram, Room, gram_of, interaction_square, merge_moments
from shardwise.methods.pairs import JointDraws, Means, Pairs
from shardwise.stats.resampling import key_of
from shardwise.stats.threads import one_thread

if TYPE_CHECKING:
    from shardwise.io.blocks import Block
    from shardwise.io.tables.facts import Columns

KIND = "moments"
ROWS = 16_384  # items of a block; of a long table rows
TESTS = ("moderated", "t", "MD1")
FEW = 1_000  # items below which the joint distribution is better resampled from the table itself
Gaps = Literal["refuse", "drop"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreMoments(Shown):
    """Number of items, means of the systems and their cross-products: all that tests of means need.

    One pass over a table of any length makes them in constant memory. Those of several files, workers or days are
    added, in any order; those of yesterday are saved, and the table is never read again.

    Parameters
    ----------
    systems
        Names of the systems.
    gram
        Number of items, means, and (R, R) sums over items of the products of centred scores; `ColumnMargins`, without
        the products of different systems, where no more was kept.
    item
        The user's word for an item.
    dropped
        Items that were left out because a system lacked a score.

    >>> rng = np.random.default_rng(1)
    >>> monday = ScoreMoments.of(rng.normal([.5, .52, .6], .2, (2000, 3)), systems=["a", "b", "c"])
    >>> week = monday + ScoreMoments.of(rng.normal([.5, .52, .6], .2, (3000, 3)), systems=["a", "b", "c"])
    >>> print(week)
    moments of 5,000 topics × 3 systems
    >>> week.means.round(2).tolist()
    [0.5, 0.52, 0.6]
    """

    systems: tuple[str, ...]
    gram: Gram
    item: str = "topic"
    dropped: int = 0

    @classmethod
    def of(
        cls,
        source: Any,
        *,
        columns: Columns | None = None,
        systems: Sequence[str] = (),
        missing: Gaps = "refuse",
        margins: bool = False,
        rows: int = ROWS,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> ScoreMoments:
        """Read scores once, block by block, and keep their moments.

        Blocks are put together in their order: the figures depend on the table and on ``rows``, not on ``jobs``.

        Parameters
        ----------
        source : object
            A Parquet, Arrow, CSV or TSV file, a folder of Parquet files, a NetCDF file or Zarr store, a .npy file; a
            dataset, table or reader of Arrow, such as a query of DuckDB gives; a DataArray, also of Dask; an array of
            items by systems. Long tables have the rows of an item next to each other.
        columns : mapping, optional
            Which column is what, as `read_scores` takes it.
        systems : sequence of str
            Names of the systems, for arrays that do not have them.
        missing : {"refuse", "drop"}
            ``refuse`` items without a score of every system, or ``drop`` and count them.
        margins : bool
            Keep means and variances alone, without products of different systems: enough for MD1 and its
            corrections, and about as fast as the table can be read.
        rows : int
            Items of a block; more need more memory.
        jobs : int, optional
            Threads that work side by side; None for as many as there are processors.
        progress : callable, optional
            Called with (items done, 0) after each block.

        Returns
        -------
        ScoreMoments
            Counts, means and cross-products of the systems.
        """
        validate_choice(missing, "missing", ("refuse", "drop"))
        # Arrow's datasets are loaded for those who stream
        from shardwise.io.blocks import open_blocks

        opened = open_blocks(source, columns=columns, systems=systems, rows=rows)
        if len(opened.systems) < 2:
            raise InputError(
                f"{format_count(len(opened.systems), 'system')}, and comparing takes two",
                where=opened.source,
                remedy="check which columns are systems",
            )
        # moments of all blocks, put together in their order, and how many items were left out
        size = len(opened.systems)
        total = gram_of((), size, margins=margins)
        dropped, done, thread_memory = 0, 0, threading.local()
        with one_thread():
            for kept, lacking, infinite in stream_results(
                partial(_read_block, size, margins, thread_memory), opened.each, jobs=jobs
            ):
                if infinite:
                    raise InputError(
                        "holds infinite scores", where=opened.source, remedy="correct or drop them"
                    )
                if lacking and missing == "refuse":
                    raise InputError(
                        "a system lacks a score",
                        where=f"{opened.source}: {opened.item} {done + lacking[0] + 1}",
                        remedy=("leave such items out with ", Option("missing", "drop")),
                    )
                total = merge_moments(total, kept)
                dropped, done = dropped + len(lacking), done + kept.n + len(lacking)
                if progress is not None:
                    progress(done, 0)
        return cls(opened.systems, total, opened.item, dropped)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ScoreMoments:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        ScoreMoments
            The moments as they were saved.
        """
        arrays, facts = load_arrays(path, KIND)
        names, n = [str(name) for name in facts.get("systems", ())], facts.get("n")
        kept = "squares" if "squares" in arrays else "cross"
        shapes = {"mean": (len(names),), kept: (len(names),) * (1 if kept == "squares" else 2)}
        total = facts.get("total", 0.0)
        whole = isinstance(n, int) and n >= 0 and set(arrays) == set(shapes)
        whole = whole and isinstance(total, int | float) and bool(np.isfinite(total))
        for name, shape in shapes.items() if whole else ():
            array = arrays[name]
            whole &= array.dtype == np.float64 and array.shape == shape and bool(np.isfinite(array).all())
        if not whole:
            raise InputError("is damaged", where=str(path), remedy="make the moments again")
        moments = (
            Gram(int(facts["n"]), arrays["mean"], arrays["squares"], float(total), None)
            if kept == "squares"
            else Gram.of_products(int(facts["n"]), arrays["mean"], arrays["cross"])
        )
        return cls(tuple(names), moments, str(facts.get("item", "topic")), int(facts.get("dropped", 0)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file, by custom ending in ``.moments``.
        """
        facts = {"systems": list(self.systems), "n": self.n, "item": self.item, "dropped": self.dropped}
        facts |= {"total": self.gram.total} if self.gram.cross is None else {}
        kept = {"squares": self.gram.squares} if self.gram.cross is None else {"cross": self.gram.cross}
        arrays = {"mean": self.gram.mean, **kept}
        save_arrays(path, KIND, arrays, facts)

    @property
    def n(self) -> int:
        """Number of items."""
        return self.gram.n

    @property
    def means(self) -> pd.Series[float]:
        """Means of the systems."""

        return pd.Series(self.gram.mean, index=pd.Index(self.systems, name="system"), name="mean")

    @property
    def covariance(self) -> pd.DataFrame:
        """Covariances of the systems over items (ddof 1)."""

        names = list(self.systems)
        self._require_products("covariances")
        return pd.DataFrame(self.gram.products / max(self.n - 1.0, 1.0), names, names)

    def margins(self) -> ScoreMoments:
        """Return the same without products of different systems, as ``of(..., margins=True)`` keeps them.

        Returns
        -------
        ScoreMoments
            Moments of each system alone.
        """
        return replace(self, gram=self.gram._replace(cross=None))

    def _require_products(self, wanted: str) -> None:
        """Refuse what needs products of different systems where there are none."""
        if self.gram.cross is None:
            raise InputError(
                f"{wanted} need products of different systems, and margins are without them",
                remedy=("read the table without ", Option("margins"), ", or use MD1 hsd"),
            )

    def __add__(self, other: ScoreMoments) -> ScoreMoments:
        """The moments of the items of both, whatever the order of their systems."""
        if set(self.systems) != set(other.systems):
            alone = sorted(set(self.systems) ^ set(other.systems))
            raise InputError(
                f"{format_count(len(alone), 'system')} only one side has, such as {alone[0]!r}",
                remedy="add moments of the same systems",
            )
        order = np.array([other.systems.index(name) for name in self.systems])
        ours, theirs = self.gram, other.gram.select_columns(order)
        if (ours.cross is None) != (theirs.cross is None):
            raise InputError(
                "one side has products of different systems, the other margins alone",
                remedy=Either("add margins: .margins() of the one that has more", "give --margins"),
            )
        return replace(self, gram=merge_moments(ours, theirs), dropped=self.dropped + other.dropped)

    def estimates(
        self,
        *,
        test: str = "moderated",
        generalize: Claim | str | Iterable[str] = "topic",
        n_resamples: int = 9_999,
        seed: int = 0,
        lower_is_better: bool = False,
    ) -> Means:
        """Return the means of the systems with what differences are measured against.

        Parameters
        ----------
        test : str
            ``moderated``, whose joint distribution is the normal limit of resampled items; ``t``, each pair by itself;
            ``MD1``, the analysis of variance with one error for all.
        generalize : Claim, str or iterable of str
            The claim, items like these; only MD1 also speaks of these items alone, with the same figures.
        n_resamples : int
            JointDraws of the joint distribution.
        seed : int
            Seed of the draws; draw i depends on (seed, i) only.
        lower_is_better : bool
            Whether the best system is the one with the lowest mean.

        Returns
        -------
        Means
            Means of the systems and variances of their differences.
        """
        validate_choice(test, "test", TESTS)
        if self.n < 2:
            raise InputError(
                f"{format_count(self.n, self.item)}, and a variance takes two", remedy="add more"
            )
        nouns = {"topic": self.item} if self.item != "topic" else {}
        claim = Claim.of(generalize, nouns)
        if claim.over not in ((), ("topic",)) or (not claim.over and test != "MD1"):
            raise InputError(
                f"{test} of moments supports claims about new {pluralize_noun(self.item)} only",
                remedy=("leave out ", Option("generalize")),
            )
        systems, df = len(self.systems), self.n - 1.0
        # best system first, as tests know systems by their number
        order = np.argsort(self.gram.mean if lower_is_better else -self.gram.mean, kind="stable")
        gram = self.gram.select_columns(order)
        error = interaction_square(gram) / (df * (systems - 1.0))
        estimates = Means(
            labels=tuple(self.systems[k] for k in order),
            values=gram.mean,
            variance=error / self.n,
            df=df * (systems - 1.0),
            claim=claim.sentence({"topic": self.n}, nouns),
            model="MD1",
            error="topic:system" if claim.over else "error",
            scale=float(np.sqrt(error)),
            own_sd=np.sqrt(gram.squares / df),
            own_count=np.full(systems, float(self.n)),
            over=claim,
            nouns=nouns,
            lower_is_better=lower_is_better,
            notes=(f"{format_count(self.dropped, self.item)} without all scores left out",)
            if self.dropped
            else (),
        )
        if test == "MD1":
            return estimates
        nothing = {"variance": float("nan"), "df": float("nan"), "error": "", "model": test}
        self._require_products(f"differences by {test}")
        tested = partial(moments_pairs, gram, test, n_resamples, seed)
        few = (
            f"under {FEW} {pluralize_noun(self.item)} the table gives a better joint distribution than its moments",
        )
        notes = few if test == "moderated" and self.n < FEW else ()
        return replace(estimates, pairs=tested, notes=(*estimates.notes, *notes), **nothing)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"moments of {format_count(self.n, self.item)} × {format_count(len(self.systems), 'system')}"


def _read_block(
    systems: int, margins: bool, thread_memory: threading.local, block: Block
) -> tuple[Gram, list[int], bool]:
    """Return moments of the items of a block that have all scores, items that lack some, and if some are infinite."""
    room = thread_memory.__dict__.setdefault("room", Room())
    missing: list[int] = []
    infinite: list[int] = []

    def keep_whole(piece: Floats, first: int) -> Floats:
        gaps, endless = np.isnan(piece).any(axis=0), np.isinf(piece).any(axis=0)
        missing.extend((first + np.flatnonzero(gaps)).tolist())
        infinite.extend((first + np.flatnonzero(endless)).tolist())
        return piece[:, ~(gaps | endless)]

    kept = gram_of(block(), systems, keep_whole, room, margins=margins)
    return kept, missing, bool(infinite)


def moments_pairs(gram: Gram, test: str, n_resamples: int, seed: int, ia: Ints, ib: Ints) -> Pairs:
    """Test pairs out of moments: Student's distribution for each, and for the moderated test the joint distribution."""
    statistics = gram_statistics(gram, ia, ib, None if test == "moderated" else 0.0)
    pairs = Pairs(statistics.difference, statistics.se, statistics.df, statistics.t, statistics.p)
    if test != "moderated":
        return pairs

    @cache
    def draw() -> ResampledDistribution:
        return normal_limit(gram, ia, ib, statistics, key_of(seed), n_resamples)

    def half_width(alpha: float) -> Floats:
        """c times each pair's own standard error, c the upper alpha quantile of the largest |t*|."""
        return np.where(statistics.se == 0.0, 0.0, statistics.se * draw().critical(alpha))

    draws = JointDraws(lambda: draw().p_adjusted, half_width)
    words = f"normal limit of resampled items, {n_resamples} draws, seed {seed}"
    return replace(pairs, draws=draws, words=words)
