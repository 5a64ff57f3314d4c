"""This tree beside an older commit, in one run: python -m bench.commits REVISION [ROUNDS].

Each piece of work is done by both in turn, in processes of their own, and the best of all rounds counts. The older
sources are taken out of git; what has moved since is looked for under its older name.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from shardwise.lab.simulate_collection import simulate_collection

ROOT = Path(__file__).parent.parent
BEFORE = """
import importlib, sys, time, json
from functools import reduce
import numpy as np, xarray as xr
import shardwise as sw

def found(*names):
    for name in names:
        try:
            return reduce(getattr, name.split("."), sw)
        except AttributeError:
            try:
                module, _, last = name.rpartition(".")
                return getattr(importlib.import_module(f"shardwise.{module}"), last)
            except (ImportError, AttributeError):
                continue
    raise SystemExit(f"none of {names}")

rng = np.random.default_rng(0)
def table(*sizes, dims=("topic", "system", "shard")):
    values = rng.beta(2.0, 5.0, size=sizes).round(4)
    coords = {dim: [f"{dim[0]}{i}" for i in range(n)] for dim, n in zip(dims, sizes)}
    return xr.DataArray(values, dims=dims[: len(sizes)], coords=coords)

def nested(*sizes):
    return table(*sizes, dims=("system", "instance", "topic"))

folder = sys.argv[1]
"""
AFTER = """
work()
times = []
end = time.perf_counter() + 2.0
while len(times) < 3 or time.perf_counter() < end and len(times) < 200:
    start = time.perf_counter()
    work()
    times.append(time.perf_counter() - start)
print(json.dumps(min(times)))
"""
RUNS = "c = sw.read_collection(f'{folder}/runs', f'{folder}/qrels.txt')\n"
SMALL, MIDDLE, LARGE = (
    "x = table(10, 8, 3)\n",
    "x = table(25, 20, 5)\n",
    "x = table(50, 129, 5)\n",
)
WHOLE, SEEDS = "x = table(50, 129)\n", "x = nested(2, 100, 50)\n"
WORK = {
    "parse and code 129 × 50 × 1000 lines": RUNS
    + "work = lambda: sw.read_collection(f'{folder}/runs', f'{folder}/qrels.txt')",
    "AP, P@10, nDCG@10": RUNS + "work = lambda: sw.score(c, ['AP', 'P@10', 'nDCG@10'])",
    "split into 5 shards": RUNS + "work = lambda: sw.split(c, 5, seed=1)",
    "AP, P@10 on 5 shards": RUNS
    + "s = sw.split(c, 5, seed=1)\nwork = lambda: sw.score(c, ['AP', 'P@10'], s)",
    "8,256 studentized-range p-values": "sr = found('stats.studentized_range.sf', 'numerics.studentized_range.sf')\n"
    "q = np.linspace(0.1, 9.0, 8256)\nwork = lambda: sr(q, 129, 6272)",
    "MD6 + HSD, 10 × 8 × 3": SMALL + "work = lambda: sw.compare(sw.anova(x, sw.MD6), 'hsd').to_frame()",
    "MD6 + HSD, 25 × 20 × 5": MIDDLE + "work = lambda: sw.compare(sw.anova(x, sw.MD6), 'hsd').to_frame()",
    "MD6 + HSD, 50 × 129 × 5": LARGE + "work = lambda: sw.compare(sw.anova(x, sw.MD6), 'hsd').to_frame()",
    "ideal bootstrap, MD6": LARGE
    + "f = sw.bootstrap_anova(x, sw.MD6)\nwork = lambda: sw.compare(sw.bootstrap_anova(x, sw.MD6), 'bh')",
    "10,000 resamples, MD6": LARGE
    + "work = lambda: sw.bootstrap_anova(x, sw.MD6, n_resamples=10_000, seed=1)",
    "paired t, 8,256 pairs": WHOLE + "work = lambda: sw.paired_tests(x, 't')",
    "Wilcoxon, 8,256 pairs": WHOLE + "work = lambda: sw.paired_tests(x, 'wilcoxon')",
    "sign, 8,256 pairs": WHOLE + "work = lambda: sw.paired_tests(x, 'sign')",
    "randomization, 8,256 pairs": WHOLE + "work = lambda: sw.paired_tests(x, 'randomization', seed=1)",
    "mixed model, nested + Holm, 2 × 100 × 50": SEEDS
    + "work = lambda: sw.compare(sw.mixed(x, design='nested'), 'holm')",
    "the same, a tenth lost": SEEDS
    + "x = x.where(rng.random(x.shape) > 0.1)\nwork = lambda: sw.compare(sw.mixed(x, design='nested'), 'holm')",
    "unified test, 2 × 100 × 50": SEEDS
    + "a, b = (x.isel(system=i, drop=True).rename('ab'[i]) for i in range(2))\n"
    "work = lambda: sw.compare_instances(a, b)",
    "10,000 posterior draws and HPD": SEEDS
    + "p = found('methods.mixed.posterior.posterior', 'fits.posterior.posterior')\nf = sw.mixed(x, design='nested')\n"
    "work = lambda: p(f).difference('s0', 's1').interval()",
    "laboratory, 500 tables × t holm": "x = table(25, 20)\n"
    "work = lambda: sw.calibrate(x, ['t holm'], repetitions=500, nulls=['flip'], planted=False, jobs=1)",
    "import": "import subprocess\n"
    "work = lambda: subprocess.run([sys.executable, '-c', 'import shardwise'], check=True)",
}


def main() -> None:
    """Print a line as soon as it is known."""
    revision, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print("| work | before, s | now, s | now / before |\n|---|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as place:
        old, data = Path(place) / "old", Path(place) / "data"
        archive = subprocess.run(
            ["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as sources:
            sources.extractall(old, filter="data")
        simulate_collection(topics=50, systems=129, seed=1).write(data)
        for name, code in WORK.items():
            best = {tree: float("inf") for tree in (old, ROOT)}
            for _ in range(rounds):
                for tree in best:
                    best[tree] = min(best[tree], seconds(code, tree, data))
            before, now = best[old], best[ROOT]
            print(f"| {name} | {before:.3g} | {now:.3g} | {now / before:.2f} |", flush=True)


def seconds(code: str, tree: Path, data: Path) -> float:
    """The best time of a process with the sources of that tree; NaN where it cannot do the work."""
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", BEFORE + code + AFTER, str(data)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(f"{tree.name}: {done.stderr.strip().splitlines()[-1]}\n")
        return float("nan")
    return float(json.loads(done.stdout))


if __name__ == "__main__":
    main()
