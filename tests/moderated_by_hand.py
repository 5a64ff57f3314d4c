"""The moderated t-test, straight from its definition."""

from __future__ import annotations

import numpy as np


def moderated_t(table: np.ndarray, prior_df: float = 20.0) -> np.ndarray:
    """Return (R, R) t-statistics of row less column of (T, R) scores, 0 where nothing varies."""
    topics, systems = table.shape
    gaps = table[:, :, None] - table[:, None, :]
    variances = gaps.var(axis=0, ddof=1)
    pooled = variances[np.triu_indices(systems, 1)].mean()
    moderated = ((topics - 1) * variances + prior_df * pooled) / (topics - 1 + prior_df)
    t = np.zeros((systems, systems))
    return np.divide(gaps.mean(axis=0), np.sqrt(moderated / topics), out=t, where=moderated > 1e-300)
