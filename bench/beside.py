"""What other tools print for the runs and logs of the README: python -m bench.beside [folder of lm-eval results].

Needs what it runs: pip install ranx python-terrier lm_eval. What is not installed is passed over.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))
from make_start import prepare

SYSTEMS = ("sys1", "sys2", "sys3")


def with_ranx() -> Any:
    import ranx

    qrels = ranx.Qrels.from_file("qrels.txt", kind="trec")
    runs = [ranx.Run.from_file(f"runs/{name}.run", kind="trec") for name in SYSTEMS]
    return ranx.compare(qrels, runs, ["map"], stat_test="student")


def with_pyterrier() -> Any:
    import pandas as pd
    import pyterrier as pt

    qrels = pt.io.read_qrels("qrels.txt")
    topics = pd.DataFrame({"qid": qrels["qid"].unique(), "query": ""})
    runs = [pt.io.read_results(f"runs/{name}.run") for name in SYSTEMS]
    return pt.Experiment(runs, topics, qrels, ["map"], names=list(SYSTEMS), baseline=0).to_string(index=False)


def with_lm_eval() -> Any:
    from lm_eval.utils import make_table

    files = sorted(Path(sys.argv[1]).glob("**/*results*.json"))
    return "\n".join(make_table(json.loads(file.read_text())) for file in files)


def main() -> None:
    tools: list[Callable[[], Any]] = [with_ranx, with_pyterrier, *([with_lm_eval] if sys.argv[1:] else [])]
    if sys.argv[1:]:
        sys.argv[1] = str(Path(sys.argv[1]).absolute())
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        os.chdir(folder)
        for tool in tools:
            try:
                print(tool(), flush=True)
            except ImportError as error:
                print(f"{tool.__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
