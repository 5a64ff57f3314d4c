"""A browser for the tests of charts."""

from browsers import browser

__all__ = ["browser"]
