"""What results share: they show themselves in a notebook, and their notes say what they are about."""

from __future__ import annotations

from typing import Any, Literal, Self

from shardwise.core import late


class Shown:
    """A result that a notebook shows as its sentence, its table and a small chart, without a network."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        text: str = late.call_bound("notebook", self)
        return text

    def __repr__(self) -> str:
        first = next((line for line in str(self).splitlines() if line.strip()), "")
        return f"<{type(self).__name__}: {first}>"


class Drawn(Shown):
    """A result that has charts."""

    __slots__ = ()

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Draw a chart of the result: an altair chart, which notebooks show without a network and `save_chart` saves.

        Parameters
        ----------
        kind : str, optional
            Which of its charts, as `sw.plot.list_charts` names them; the first without it.
        **options
            Those of the function of ``sw.plot`` that draws it, such as ``level`` and ``measure``.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self, kind, **options)


Subject = Literal["gaps", "splits", "no error"]


class Note(str):
    """A note of a fit, and its subject.

    Parameters
    ----------
    text : str
        The sentence.
    about : {"gaps", "splits", "no error"}
        Missing scores, the splits' own part of the error, or a model without an error to test against.

    >>> note = Note("2 scores are missing", "gaps")
    >>> note, note.about
    ('2 scores are missing', 'gaps')
    """

    about: Subject
    __slots__ = ("about",)

    def __new__(cls, text: str, about: Subject) -> Self:
        """Make a note of a text and its subject."""
        note = super().__new__(cls, text)
        note.about = about
        return note

    def __reduce__(self) -> tuple[type[Note], tuple[str, Subject]]:
        """Return what makes this note again, for copies and other processes."""
        return Note, (str(self), self.about)


def is_about(note: str, *subjects: Subject) -> bool:
    """Return whether a note is about one of some subjects.

    >>> is_about(Note("2 scores are missing", "gaps"), "gaps", "splits"), is_about("2 scores are missing", "gaps")
    (True, False)
    """
    return isinstance(note, Note) and note.about in subjects
