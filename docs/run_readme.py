"""Run every console line and Python snippet of the README and the start page, and compare what they print.

``make readme`` does so with the programs of a new environment that holds the wheel and nothing else. In output that
a page shows, ``...`` stands for any number of lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import make_start
import shardwise

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "start.md")
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"\s+#.*$")
PACKAGES = re.compile(r"pip install ([\w-]+(?: [\w-]+)*)")
PROGRAMS = Path(sys.executable).parent
ELIDED = "..."


def list_steps(page: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield language, command or code, and the lines shown below it, of every block of a page."""
    for kind, text, shown in BLOCK.findall(page):
        if kind == "python":
            yield kind, text, shown.splitlines()
            continue
        for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, *below = step.splitlines()
            yield kind, line, below


def matches(shown: list[str], printed: str) -> bool:
    """Tell whether lines are what was printed.

    >>> matches(["a", "...", "d"], "a\\nb\\nc\\nd\\n"), matches(["a"], "a\\nb\\n")
    (True, False)
    """
    pattern = "".join(r"(?:.*\n)*?" if line == ELIDED else re.escape(line) + r"[ ]*\n" for line in shown)
    return re.fullmatch(pattern, printed) is not None


def run_step(kind: str, text: str, folder: Path) -> tuple[int, str, str]:
    """Run a command of the shell or a snippet of Python; return exit code, output and errors."""
    command = ["sh", "-c", text] if kind == "console" else [sys.executable, "-c", text]
    done = subprocess.run(command, cwd=folder, env=make_environment(folder), capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def make_environment(folder: Path) -> dict[str, str]:
    """Return variables of a new user: programs of this environment first, files of the user in the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "XDG_"))}
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    return {**kept, "PATH": path, "HOME": str(folder), "BROWSER": "true", "PYTHONUNBUFFERED": "1"}


def find_problem(kind: str, text: str, shown: list[str], folder: Path) -> str:
    """Run one step and return what is wrong with it; nothing where it does what the page says."""
    line = COMMENT.sub("", text) if kind == "console" else text
    if line.startswith("make "):
        target = line.split()[1]
        return (
            ""
            if re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
            else "no such target"
        )
    if line == "pip install .":
        return (
            ""
            if Path(shardwise.__file__).is_relative_to(sys.prefix)
            else f"{shardwise.__file__} is not installed"
        )
    if line.startswith("shardwise serve"):
        return find_problem_of_server(line, text, folder)
    code, printed, errors = run_step(kind, line, folder)
    # a gate that does not pass has an exit code of its own
    if code not in ((0, 3) if line.startswith("shardwise gate") else (0,)):
        return f"exit code {code}: {errors.strip()}"
    return "" if not shown or matches(shown, printed) else f"prints\n{printed}"


def find_problem_of_server(line: str, text: str, folder: Path) -> str:
    """Start the server without its packages, which is refused, and with those that the page says to install."""
    named = PACKAGES.search(text)
    if named is None:
        return "the packages that it needs are not named"
    code, _, errors = run_step("console", line, folder)
    if code != 2 or not errors.endswith(f"; run {named[0]}\n") or len(errors.splitlines()) != 1:
        return f"without its packages it is not refused: exit code {code}: {errors.strip()}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *named[1].split()], check=True)
    words = [str(PROGRAMS / "shardwise"), *line.split()[1:], "--port", "0"]
    with subprocess.Popen(
        words,
        cwd=folder,
        env=make_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        assert server.stdout is not None
        first = server.stdout.readline()
        server.terminate()
    return "" if first.startswith("shardwise serves at http://127.0.0.1:") else f"prints {first.strip()}"


def main() -> None:
    """Run all steps of the pages; exit code 1 where one does not do what its page says."""
    problems = 0
    for page in PAGES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_start.prepare(folder)
            for kind, text, shown in list_steps(page.read_text(encoding="utf-8")):
                problem = find_problem(kind, text, shown, folder)
                problems += bool(problem)
                first = text.splitlines()[0] if kind == "console" else "; ".join(text.split("\n")).strip("; ")
                print(f"{'WRONG' if problem else 'ok':5}  {page.name}: {first}", flush=True)
                if problem:
                    print(problem, flush=True)
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
