"""A result into a chart; names are loaded on first use, as drawing takes long to load."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
