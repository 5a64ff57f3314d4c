"""Methods that turn tables of scores into estimates, one package a family, and the names of procedures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
