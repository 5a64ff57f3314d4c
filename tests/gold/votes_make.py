"""Make the votes that R's BradleyTerry2 and gnm are run on: `python tests/gold/votes_make.py`."""

from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(36)
systems, votes = 6, 900
strength = rng.normal(0.0, 0.6, systems)
first = rng.integers(0, systems, votes)
second = (first + rng.integers(1, systems, votes)) % systems
prompt, voter = rng.integers(0, 60, votes), rng.integers(0, 25, votes)
eta = strength[first] - strength[second] + 0.3
eta = (
    eta
    + rng.normal(0.0, 0.5, (60, systems))[prompt, first]
    - rng.normal(0.0, 0.5, (25, systems))[voter, second]
)
weights = np.exp(np.stack([eta / 2, np.full(votes, -0.4), -eta / 2]))
cut = np.cumsum(weights / weights.sum(axis=0), axis=0)
draw = rng.random(votes)
winner = np.where(draw < cut[0], "model_a", np.where(draw < cut[1], "tie", "model_b"))
frame = pd.DataFrame(
    {
        "question": [f"q{k}" for k in prompt],
        "model_a": [f"m{k}" for k in first],
        "model_b": [f"m{k}" for k in second],
        "winner": winner,
        "voter": [f"v{k}" for k in voter],
    }
)
frame.to_csv(Path(__file__).parent / "votes.csv", index=False)
