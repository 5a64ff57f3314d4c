"""Run the cases: ``python -m fuzz.run --cases 1000000 --journal fuzz.jsonl``; stopped, it goes on where it was.

``python -m fuzz.run meaning --cases 10000`` runs the family of files and commands whose meaning is known.
Cases depend on the seed, the target and their number alone. They are tried in batches by a forked process: one that
ends by a signal or takes over a minute for a case is a failure, and the next batch begins behind it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz import targets
from fuzz.cases import FOLDER, try_case
from fuzz.meaning.targets import TARGETS as MEANING

FAMILIES = {"bytes": targets.TARGETS, "meaning": MEANING}
TARGETS = {**targets.TARGETS, **MEANING}
HANG = 60  # seconds
MEMORY = 6 << 30  # bytes beyond what the process has when it begins
BATCH = {"line": 25, "foreign": 5, "workbook": 50, "commands": 50, "changes": 50, "formats": 25}


def _batch(name: str, seed: int, first: int, last: int, at: Any, pipe: Any) -> None:
    """Try cases in a process of its own."""
    # not of addresses, of which the engine of the charts reserves more than any machine has memory
    resource.setrlimit(resource.RLIMIT_DATA, (_held() + MEMORY, -1))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    counts: Counter[str] = Counter()
    failures = []
    for index in range(first, last):
        at.value = index
        signal.alarm(HANG)
        try:
            counts[try_case(TARGETS[name], name, seed, index)] += 1
        except BaseException as error:
            failures.append({"case": index, "error": f"{type(error).__name__}: {error}"[:500]})
    signal.alarm(0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    pipe.send({"counts": dict(counts), "failures": failures, "peak_mb": peak})
    pipe.close()
    shutil.rmtree(FOLDER, ignore_errors=True)
    os._exit(0)


def _held() -> int:
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()


def tried_batch(name: str, seed: int, first: int, last: int) -> dict[str, Any]:
    """Try some cases of a target, and tell what became of them and up to which they came."""
    context = multiprocessing.get_context("fork")
    at = context.Value("q", first)
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_batch, args=(name, seed, first, last, at, theirs))
    began = time.monotonic()
    worker.start()
    theirs.close()
    told: dict[str, Any] = {"counts": {}, "failures": [], "peak_mb": 0}
    with suppress(EOFError):
        told = ours.recv()
    worker.join()
    if worker.exitcode:  # what the batch counted before is tried again by nobody, and not counted
        last = at.value + 1
        what = "hang" if worker.exitcode == -signal.SIGALRM else f"exit {worker.exitcode}"
        told["failures"].append({"case": at.value, "error": what})
    return {
        "target": name,
        "seed": seed,
        "first": first,
        "last": last,
        "seconds": round(time.monotonic() - began, 2),
        **told,
    }


def done_so_far(journal: Path, seed: int) -> Counter[str]:
    """Cases of every target that the journal has already."""
    found: Counter[str] = Counter()
    for line in journal.read_text().splitlines() if journal.exists() else ():
        one = json.loads(line)
        if one["seed"] == seed:
            found[one["target"]] = max(found[one["target"]], one["last"])
    return found


def run(cases: int, seed: int, journal: Path, chosen: list[str], until: float) -> int:
    """Try as many cases in all, shared among the targets by their weights; return the number of failures."""
    total = sum(TARGETS[name].weight for name in chosen)
    wanted = {name: max(1, round(cases * TARGETS[name].weight / total)) for name in chosen}
    done = done_so_far(journal, seed)
    failures = 0
    if set(chosen) & set(targets.TARGETS):
        targets.prepare()
    for name in chosen:  # what is compiled and loaded here need not be by every batch
        for index in range(5):
            with suppress(Exception):
                try_case(TARGETS[name], name, -1, index)
    with journal.open("a") as stream:
        while any(done[name] < wanted[name] for name in chosen):
            for name in chosen:  # in turn, so that a run that is stopped has tried something of all
                first = done[name]
                last = min(wanted[name], first + BATCH.get(name, max(100, wanted[name] // 40)))
                if first >= last:
                    continue
                if time.monotonic() > until:
                    return failures
                told = tried_batch(name, seed, first, last)
                done[name] = told["last"]
                failures += len(told["failures"])
                stream.write(json.dumps(told) + "\n")
                stream.flush()
                for one in told["failures"]:
                    sys.stderr.write(f"{name} {one['case']}: {one['error']}\n")
    return failures


def summary(journal: Path) -> str:
    """What a journal says, a row a target, as Markdown."""
    rows: dict[str, Counter[str]] = {}
    peak: Counter[str] = Counter()
    for line in journal.read_text().splitlines():
        one = json.loads(line)
        row = rows.setdefault(one["target"], Counter())
        row.update(one["counts"])
        row["failures"] += len(one["failures"])
        row["seconds"] += one["seconds"]
        peak[one["target"]] = max(peak[one["target"]], one["peak_mb"])
    columns = ("right", "read", "refused", "failures", "seconds")
    lines = [f"| target | cases | {' | '.join(columns)} | peak MB |", "|---|" + "---:|" * (len(columns) + 2)]
    for name in (*sorted(rows), "all"):
        row = sum(rows.values(), Counter()) if name == "all" else rows[name]
        cases = sum(row[key] for key in ("right", "read", "refused", "failures"))
        cells = [f"{round(row[key]):,}" for key in columns]
        lines.append(
            f"| {name} | {cases:,} | {' | '.join(cells)} | {max(peak.values()) if name == 'all' else peak[name]} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="?", default="bytes", choices=list(FAMILIES))
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--journal", type=Path, default=Path("fuzz.jsonl"))
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--case", type=int, help="try this one case of one target here, with its traceback")
    parser.add_argument("--summary", action="store_true", help="print what the journal says")
    options = parser.parse_args()
    chosen = options.target or list(FAMILIES[options.family])
    if options.case is not None:
        print(try_case(TARGETS[chosen[0]], chosen[0], options.seed, options.case))
    elif options.summary:
        print(summary(options.journal))
    else:
        until = time.monotonic() + 60 * options.minutes
        failures = run(options.cases, options.seed, options.journal, chosen, until)
        print(summary(options.journal))
        sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
