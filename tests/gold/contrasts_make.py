"""Make the scores that emmeans and multcomp are run on: `python tests/gold/contrasts_make.py`."""

from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(36)
topics, systems = 30, ["a", "b", "c", "d", "e", "f"]
scores = rng.normal(0.5, 0.2, (topics, 1)) + np.linspace(0.0, 0.12, 6) + rng.normal(0.0, 0.1, (topics, 6))
frame = pd.DataFrame(
    scores.round(6), columns=systems, index=pd.Index([f"t{k}" for k in range(topics)], name="topic")
)
frame.to_csv(Path(__file__).parent / "contrasts_scores.csv")
