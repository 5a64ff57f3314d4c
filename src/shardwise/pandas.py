"""Register ``df.sw`` for pandas: ``import shardwise.pandas``, then ``df.sw.compare()``.

>>> frame = pd.DataFrame({"a": [0.9, 0.8, 0.7, 0.9], "b": [0.5, 0.6, 0.2, 0.4]}, index=["q1", "q2", "q3", "q4"])
>>> frame.sw.compare("t holm").to_frame()[["a", "b", "difference"]].round(2)
   a  b  difference
0  a  b         0.4
"""

from __future__ import annotations

import pandas as pd

from shardwise.integrations.accessor import ScoresAccessor as ScoresAccessor

__all__ = ["ScoresAccessor"]

if getattr(pd.DataFrame, "sw", None) is not ScoresAccessor:
    pd.api.extensions.register_dataframe_accessor("sw")(ScoresAccessor)
