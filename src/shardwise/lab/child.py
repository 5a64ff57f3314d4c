"""Run a program within limits of time and memory: ``python -m shardwise.lab.child SECONDS BYTES command …``."""

from __future__ import annotations

import os
import subprocess
import sys

from shardwise.core.processes import limit_memory, limit_processor, resource

PATH = "SHARDWISE_CHILD_PATH"
"""Variable that holds the ``PYTHONPATH`` of the program, as the user has it."""
MOST_WRITTEN = 16 << 20
"""Bytes of a file that a program may write."""


def run_command() -> int:
    """Become the program, with the user's own ``PYTHONPATH``; return its exit code, 127 where there is none."""
    seconds, memory, *command = sys.argv[1:]
    limit_processor(int(seconds))
    limit_memory(int(memory))
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_WRITTEN, MOST_WRITTEN))
    environment = dict(os.environ)
    path = environment.pop(PATH, "")
    environment.pop("PYTHONPATH", None)
    if path:
        environment["PYTHONPATH"] = path
    try:
        if os.name == "nt":
            return subprocess.call(command, env=environment)
        os.execvpe(command[0], command, environment)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    return 127


if __name__ == "__main__":
    sys.exit(run_command())
