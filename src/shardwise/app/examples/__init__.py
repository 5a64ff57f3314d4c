"""Tables that come with the package, to try the page without data of one's own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Example:
    """A table to try the page with.

    Parameters
    ----------
    key : str
        Its name in addresses.
    file : str
        The file.
    title : str
        What it holds, in a few words.
    """

    key: str
    file: str
    title: str

    def open_path(self) -> AbstractContextManager[Path]:
        """Return the path of the file, to be used in a with statement."""
        return resources.as_file(resources.files(__name__).joinpath(self.file))


EXAMPLES = {
    item.key: item
    for item in (
        Example("models", "answers.csv", "3 language models, 60 questions, 3 seeds each"),
        Example("trec3", "adhoc3_ap.csv", "40 search systems, 50 topics of TREC-3"),
    )
}
"""The tables by their keys."""
