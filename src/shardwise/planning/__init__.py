"""How many topics, shards, seeds and judgments: designs, and what they reach and cost; loaded on first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
