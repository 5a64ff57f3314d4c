"""Mixed models and comparisons of instances: ours against statsmodels where it finishes, and lme4 if R is there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import xarray as xr

from bench.timing import Seconds, best_of
from shardwise.comparing.compare import compare
from shardwise.comparing.instances import compare_instances
from shardwise.methods.mixed.fit import mixed
from shardwise.methods.mixed.posterior import posterior

SIZE = (2, 100, 50)
MANY = (3, 5, 14_000)
PEER_SIZES = [(2, 5, 10), (2, 10, 20), (2, 20, 40), SIZE]
R = """
suppressMessages(library(lmerTest)); d <- read.csv("%s")
for (k in c("system", "topic", "own")) d[[k]] <- factor(d[[k]])
best <- c(Inf, Inf); for (k in 1:%d) { s <- proc.time()
  m <- lmer(y ~ system + (1 | topic) + (1 | system:topic) + (1 | own), d)
  se <- summary(m)$coefficients[2, 2]; t <- proc.time() - s; best <- pmin(best, c(t[[3]], t[[1]] + t[[2]])) }
cat(best, se, REMLcrit(m))
"""


def simulated(shape: tuple[int, int, int], lost: float = 0.0) -> xr.DataArray:
    systems, m, n = shape
    g = np.random.default_rng(shape)
    y = (
        0.4
        + 0.2 * g.normal(size=n)
        + 0.1 * g.normal(size=(systems, 1, n))
        + 0.03 * g.normal(size=(systems, m, 1))
    )
    y = y + 0.08 * g.normal(size=shape)
    y[g.random(shape) < lost] = np.nan
    return xr.DataArray(y, dims=("system", "instance", "topic"), name="y")


def ours(scores: xr.DataArray) -> float:
    """Standard error of the difference, after the fit and the comparison."""
    return float(compare(mixed(scores), "holm").se[0])


def statsmodels(scores: xr.DataArray) -> float:
    import statsmodels.formula.api as smf

    frame = scores.to_series().reset_index()
    frame["all"] = 1
    frame["cell"] = frame["system"].astype(str) + ":" + frame["topic"].astype(str)
    frame["own"] = frame["system"].astype(str) + ":" + frame["instance"].astype(str)
    parts = {name: f"0 + C({name})" for name in ("topic", "cell", "own")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = smf.mixedlm("y ~ C(system)", frame, groups="all", vc_formula=parts, re_formula="0").fit()
    return float(fit.bse["C(system)[T.1]"])


def lme4(scores: xr.DataArray, times: int) -> tuple[Seconds, float] | None:
    """Seconds and standard error, or nothing where R or lmerTest is missing."""
    if not shutil.which("Rscript"):
        return None
    frame = scores.to_series().dropna().reset_index()
    frame["own"] = frame["system"].astype(str) + ":" + frame["instance"].astype(str)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.csv"
        frame.to_csv(path, index=False)
        run = subprocess.run(
            ["Rscript", "-e", R % (path, times)], capture_output=True, text=True, check=False
        )
    if run.returncode:
        return None
    wall, spent, se, _ = map(float, run.stdout.split()[-4:])
    return Seconds(wall, spent), se


def run() -> str:
    """Time all, check that they agree, and return a Markdown table."""
    ours(simulated((2, 3, 4)))
    lines = [
        "Seconds by the clock, in brackets seconds of processors, whose ratio is given.",
        "",
        "| work | systems × instances × topics | ours | peer | it took | ratio |",
        "|---|---|--:|---|--:|--:|",
    ]

    def row(
        work: str, shape: tuple[int, ...], seconds: Seconds, peer: str = "", theirs: Seconds | None = None
    ) -> None:
        tail = f"{peer} | {theirs} | {theirs.spent / seconds.spent:.0f}" if theirs else f"{peer} | |"
        lines.append(f"| {work} | {' × '.join(f'{size:,}' for size in shape)} | {seconds} | {tail} |")

    for shape in PEER_SIZES:
        scores = simulated(shape)
        seconds, _ = best_of(20, lambda scores=scores: ours(scores))
        peer, _ = best_of(1, lambda scores=scores: statsmodels(scores))
        row("mixed model, nested + Holm", shape, seconds, "statsmodels MixedLM", peer)
    for work, shape, lost in (
        ("mixed model, nested + Holm", SIZE, 0.0),
        ("the same, a tenth of the scores lost", SIZE, 0.1),
        ("the same, a fiftieth of the scores lost", MANY, 0.02),
    ):
        scores = simulated(shape, lost)
        seconds, se = best_of(5, lambda scores=scores: ours(scores))
        found = lme4(scores, 3 if shape == SIZE else 1)
        if found:
            assert np.isclose(se, found[1], rtol=1e-4), (se, found)
            row(work, shape, seconds, "lme4 + lmerTest", found[0])
        else:
            row(work, shape, seconds, "lme4 + lmerTest: not installed")
    full = simulated(SIZE)
    a, b = full.isel(system=0), full.isel(system=1)
    row("unified test", SIZE, best_of(5, lambda: compare_instances(a.rename("a"), b.rename("b")))[0])
    fixed = b.isel(instance=0, drop=True).rename("b")
    row("bootstrap, Algorithm 2 pooled, 100 × 10,000 resamples", SIZE, best_of(
        2, lambda: compare_instances(a.rename("a"), fixed, "bootstrap", reading="pooled"))[0])  # fmt: skip
    fit = mixed(full.assign_coords(system=["a", "b"]))
    row(
        "10,000 posterior draws and 95 % HPD",
        SIZE,
        best_of(3, lambda: posterior(fit).difference("a", "b").interval())[0],
    )
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
