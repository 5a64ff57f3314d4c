"""Read the durations that pytest prints, and list the tests over a fifth of a second on average, or two in all."""

from __future__ import annotations

import re
import sys
from collections import defaultdict

SLOW, ALL = 0.2, 2.0  # seconds of a case, of all cases


def listed(lines: list[str]) -> list[str]:
    """Names of slow tests, without parameters."""
    by_case: dict[str, float] = defaultdict(float)  # setting up counts as well
    for line in lines:
        if found := re.match(r"([\d.]+)s (?:call|setup|teardown)\s+(tests/\S+::.+)", line):
            by_case[found[2].strip()] += float(found[1])
    by_test: dict[str, list[float]] = defaultdict(list)
    for name, seconds in by_case.items():
        by_test[name.split("[")[0]].append(seconds)
    return sorted(name for name, each in by_test.items() if sum(each) > min(SLOW * len(each), ALL))


if __name__ == "__main__":
    print("\n".join(listed(sys.stdin.read().splitlines())))
