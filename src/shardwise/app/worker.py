"""A worker process: takes jobs as lines of JSON, tells how they go as lines of JSON, and ends with its server."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import IO, Any

from shardwise.core.processes import limit_memory

CHARTS = 1 << 30  # bytes that the engine of the charts sets aside, of which it uses few
OFTEN = 0.1  # seconds between two reports of progress


def main() -> None:
    """Work on what comes in until the server closes the line; what libraries print goes to the log."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(5)  # the page stays quick
    jobs: queue.Queue[dict[str, Any]] = queue.Queue()

    def listen() -> None:
        # a server that is gone, however it went, takes its workers with it
        for line in sys.stdin:
            jobs.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    from shardwise.app import work  # takes seconds to load, which is why a worker stays
    from shardwise.cli.output import redirect_progress

    # beyond what the libraries have set aside by now, or will for charts
    limit_memory(CHARTS + int(sys.argv[1]))
    _send_message(out, ready=True)
    # while nobody waits, load and try what the first analysis will need, step by step
    with redirect_progress(lambda doing, done, total: None):
        rehearsal = work.rehearse_work()
        while jobs.empty() and next(rehearsal, None) is not None:
            pass
        del rehearsal
    while True:
        job = jobs.get()
        _send_message(out, doing="starting", done=0, total=0)  # the server now knows who died, if one does
        if job["kind"] == "trust" and hasattr(os, "nice"):
            os.nice(10)  # answers of others come first
        os.chdir(job["folder"])
        _send_message(out, **_do_job(work.do_work, job, out))
        os.chdir("/")


def _do_job(do: Any, job: dict[str, Any], out: IO[str]) -> dict[str, Any]:
    """How a job ended: done, or refused or failed with a line that says why."""
    from shardwise.app.choices import describe_error
    from shardwise.core.errors import InputError

    last = 0.0

    def tell(doing: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done in (0, total) or now - last > OFTEN:
            last = now
            _send_message(out, doing=doing, done=done, total=total)

    try:
        return {"end": "done", **do(job["kind"], job["choices"], tuple(job["limits"]), tell)}
    except InputError as error:
        return {"end": "failed", "message": describe_error(error)}
    except MemoryError:
        return {
            "end": "failed",
            "message": "This needs more memory than an analysis may take; take fewer files or splits.",
        }
    except Exception as error:
        traceback.print_exc()
        Path("error.txt").write_text(traceback.format_exc())
        message = f"Something went wrong that is not your fault: {type(error).__name__}: {str(error)[:300]}"
        return {"end": "failed", "message": message}


def _send_message(out: IO[str], **message: Any) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
