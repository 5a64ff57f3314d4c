"""A real server in a process of its own, and a program that asks it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

TOKEN = "a-token-for-tests-only"
MOVING = ("reading", "queued", "running")
SOURCE = Path(__file__).parent.parent / "src"


@dataclass
class Served:
    """A server that runs, and the folder it keeps."""

    folder: Path
    process: subprocess.Popen[str]
    address: str
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        bearer = {"authorization": f"Bearer {TOKEN}"}
        self.client = httpx.Client(base_url=self.address, headers=bearer, timeout=60)

    @property
    def pages(self) -> str:
        """Address below which a browser that has come in finds the pages."""
        return self.address + (self.folder / "root").read_text()

    @classmethod
    def start(cls, folder: Path, *options: str, cwd: Path | None = None) -> Served:
        paths = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
        words = [
            sys.executable,
            "-m",
            "shardwise",
            "serve",
            "--port",
            "0",
            "--token",
            TOKEN,
            "--out",
            str(folder),
        ]
        process = subprocess.Popen(
            [*words, *options],
            cwd=cwd,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "serves at" in line, line
        made = cls(folder, process, line.split()[-1].partition("/?")[0])
        for _ in range(200):
            try:
                made.client.get("/favicon.ico")
                return made
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def stop(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def kill(self) -> None:
        self.process.kill()
        self.stop()

    def ask(self, method: str, path: str, status: int = 200, **how: Any) -> Any:
        answer = self.client.request(method, path, **how)
        assert answer.status_code == status, f"{answer.status_code}: {answer.text[:500]}"
        return answer.json() if "json" in answer.headers.get("content-type", "") else answer

    def send(self, *files: Path, kind: str = "compare") -> str:
        made: str = self.ask("POST", "/api/analyses", 201, json={"kind": kind})["id"]
        for file in files:
            self.ask("PUT", f"/api/analyses/{made}/inputs/{quote(file.name)}", 201, content=file.read_bytes())
        return made

    def wait(self, id: str, state: str = "", patience: float = 240.0) -> dict[str, Any]:
        """Wait until no worker has it, or until it is in the state."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            found: dict[str, Any] = self.ask("GET", f"/api/analyses/{id}")
            if found["state"] == state or (not state and found["state"] not in MOVING):
                return found
            time.sleep(0.03)
        raise AssertionError(f"still {found['state']}: {found['progress']}")

    def done(self, id: str, **choices: Any) -> dict[str, Any]:
        """Run an analysis, without a trust check unless it is asked for, and wait for it."""
        usual = {} if self.ask("GET", f"/api/analyses/{id}")["kind"] != "compare" else {"calibration": 0}
        self.ask("POST", f"/api/analyses/{id}/run", 202, json={**usual, **choices})
        return self.wait(id)


def strip_paths(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what says where its files were and what was typed."""
    inputs = [{name: file[name] for name in ("name", "bytes", "sha256")} for file in report["inputs"]]
    return {**report, "inputs": inputs, "recipe": None}
