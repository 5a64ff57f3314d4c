"""What all results share in a notebook: they show themselves."""

from __future__ import annotations

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
