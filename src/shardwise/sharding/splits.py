"""Document -> shard, several times over."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Bytes, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.io.archive import codes_fit, edges_fit, load_arrays, save_arrays
from shardwise.io.collection import Collection


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Several ways to divide the documents of a collection into shards, one row a split.

    Parameters
    ----------
    shards
        (split, document): number of the shard of each document.
    n_shards
        Number of shards.
    kind
        How they were drawn, as in `split`.
    seed
        Seed they were drawn with.
    sizes
        (split, shard): documents of the corpus in each shard.
    labels
        Name of each shard.
    names
        All document names, one after another, as in the collection.
    name_starts
        Where each name begins.
    notes
        What was decided and counted.
    """

    shards: npt.NDArray[np.int16]  # (n_splits, n_docs): shard number of each document code
    n_shards: int
    kind: str
    seed: int
    sizes: Ints  # (n_splits, n_shards): documents of the corpus in each shard; of the seen ones if no corpus is known
    labels: tuple[str, ...]  # name of each shard
    names: Bytes  # the documents, as in the collection
    name_starts: Ints
    notes: tuple[str, ...] = ()

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.shards)

    @classmethod
    def load(cls, path: str | os.PathLike[str], collection: Collection | None = None) -> Splits:
        """Read splits that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.
        collection : Collection, optional
            A collection in whose document codes the splits are wanted, matched by name; None: as they were saved.

        Returns
        -------
        Splits
            The splits, in the codes of the collection if one is given.
        """
        arrays, facts = load_arrays(path, "splits")
        try:
            splits = cls(
                n_shards=int(facts["n_shards"]),
                kind=str(facts["kind"]),
                seed=int(facts["seed"]),
                labels=tuple(facts["labels"]),
                notes=tuple(facts["notes"]),
                **arrays,
            )
            documents, shards = len(splits.name_starts) - 1, splits.n_shards
            sound = (
                splits.shards.shape == (len(splits.sizes), documents)
                and codes_fit(splits.shards, np.int16, shards)
                and splits.sizes.shape == (splits.n_splits, shards)
                and len(splits.labels) == shards
                and splits.names.dtype == np.uint8
                and edges_fit(splits.name_starts, documents, len(splits.names))
            )
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            sound = False
        if not sound:
            raise InputError(
                "is damaged: its numbers do not fit together",
                where=str(path),
                remedy="save the splits again",
            )
        return splits if collection is None else splits.for_collection(collection)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the splits as one compact file, with the names of the documents.

        Parameters
        ----------
        path : str or path
            The file; one that is there is replaced.
        """
        arrays = {name: getattr(self, name) for name in ("shards", "sizes", "names", "name_starts")}
        facts = {name: getattr(self, name) for name in ("n_shards", "kind", "seed", "labels", "notes")}
        save_arrays(path, "splits", arrays, facts)

    def for_collection(self, collection: Collection) -> Splits:
        """Return the same splits in the document codes of another collection, matched by name.

        Parameters
        ----------
        collection : Collection
            The collection; all its documents must have a shard.

        Returns
        -------
        Splits
            The splits in its document codes.
        """
        if np.array_equal(self.name_starts, collection.name_starts) and np.array_equal(
            self.names, collection.names
        ):
            return self
        places = locate_names(collection, self.names, self.name_starts)
        unknown = np.flatnonzero(places < 0)
        if len(unknown):
            first = unknown[0]
            name = collection.names[
                collection.name_starts[first] : collection.name_starts[first + 1]
            ].tobytes()
            raise InputError(
                f"{format_count(len(unknown), 'document')} of the collection in no shard of these splits,"
                f" such as '{name.decode('utf-8', 'backslashreplace')}'",
                remedy="split this collection itself, or split a document list that holds them all",
            )
        return replace(
            self,
            shards=np.ascontiguousarray(self.shards[:, places]),
            names=collection.names,
            name_starts=collection.name_starts,
        )

    def __str__(self) -> str:
        how = (
            f"{format_count(self.n_splits, f'{self.kind} split')} into {format_count(self.n_shards, 'shard')}"
        )
        return "\n".join([f"{how}, seed {self.seed}", *(f"- {note}" for note in self.notes)])


def locate_names(collection: Collection, names: Bytes, starts: Ints) -> Ints:
    """Return the index of every document of a collection among other names; -1 where it is none of them."""
    import pyarrow.compute  # loaded where documents are matched, and not with every command

    positions = pyarrow.compute.index_in(
        view_names(collection.names, collection.name_starts), value_set=view_names(names, starts)
    )
    return np.asarray(positions.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def view_names(names: Bytes, starts: Ints) -> Any:
    """View names, one after another, as an array of Arrow, without a copy."""
    import pyarrow as pa

    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(starts, np.int64)),
        pa.py_buffer(np.ascontiguousarray(names)),
    ]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(starts) - 1, buffers)
