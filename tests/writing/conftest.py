"""A browser for the tests of pages."""

from browsers import browser

__all__ = ["browser"]
