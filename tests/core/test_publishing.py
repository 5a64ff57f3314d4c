"""What a release rests on: workflows, the action of the gate, metadata and stubs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from shardwise.core.extras import EXTRAS

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
yaml: Any = pytest.importorskip("yaml")


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def steps_of(path: Path) -> list[dict[str, Any]]:
    return [step for job in load(path)["jobs"].values() for step in job.get("steps", [])]


def run_step(step: dict[str, Any], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner would, with this Python and the package as it is here."""
    python = folder / "bin"
    python.mkdir(exist_ok=True)
    for name, words in (("python", ""), ("shardwise", "-m shardwise ")):
        (python / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words}"$@"\n')
        (python / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{python}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        **variables,
    }
    return subprocess.run(
        ["bash", "-e", "-c", step["run"]], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_example_of_the_gate_runs(tmp_path: Path) -> None:
    """Its steps and those of the action that it uses; with the systems swapped the gate does not pass."""
    shutil.copy(ROOT / "examples" / "gate" / "evaluate.py", tmp_path)
    evaluate, gate = (
        step for step in steps_of(ROOT / "examples" / "gate" / "workflow.yml") if "name" in step
    )
    done = run_step(evaluate, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    action = load(ROOT / "action.yml")
    step = next(step for step in action["runs"]["steps"] if step.get("name") == "Gate")
    for base, new, code in (("base", "new", 0), ("new", "base", 3)):
        inputs = {name: about.get("default", "") for name, about in action["inputs"].items()} | gate["with"]
        inputs |= {"base": gate["with"][base], "new": gate["with"][new], "margin": "0.01"}
        variables = {
            name: str(inputs[re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value)[1]])  # type: ignore[index]
            for name, value in step["env"].items()
        }
        (tmp_path / "summary.md").unlink(missing_ok=True)
        done = run_step(step, tmp_path, **variables)
        assert done.returncode == code, done.stderr
        assert (tmp_path / "summary.md").read_text() == (tmp_path / "gate.md").read_text()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("wheel", "tag", "downloads"),
    [
        ("dist/*.whl", "main", []),
        ("", "v2.0.1", ["gh release download v2.0.1"]),
        ("", "main", ["gh release download"]),
    ],
)
def test_the_action_installs_a_wheel(tmp_path: Path, wheel: str, tag: str, downloads: list[str]) -> None:
    """A given one, or that of its release; nothing is compiled, and no index is asked for a wheel of ours."""
    step = next(step for step in load(ROOT / "action.yml")["runs"]["steps"] if step.get("name") == "Install")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("python", "gh"):
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (programs / name).chmod(0o755)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "shardwise-2.0.1.whl").write_bytes(b"")
    variables = {"WHEEL": wheel, "TAG": tag, "REPOSITORY": "owner/name", "RUNNER_TEMP": "temp"}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=tmp_path,
        env={**variables, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    *before, last = done.stdout.splitlines()
    assert last == f"python -m pip install {'dist/shardwise-2.0.1.whl' if wheel else 'temp/wheel/*.whl'}"
    assert [line.partition(" --repo owner/name ")[0] for line in before[:1]] == downloads
    assert all("--no-index" in line for line in before[1:])


def test_runners_are_not_retired() -> None:
    retired = ("macos-11", "macos-12", "macos-13", "ubuntu-18", "ubuntu-20", "windows-2016", "windows-2019")
    for path in WORKFLOWS:
        assert not [name for name in retired if name in path.read_text()], path.name


def test_addresses_are_the_same_everywhere() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert list(urls) == ["Homepage", "Source", "Documentation", "Changelog"]
    assert load(ROOT / "CITATION.cff")["repository-code"] == urls["Source"]
    assert all(address.startswith(urls["Source"]) for address in urls.values())


def test_workflows_call_what_there_is() -> None:
    targets = set(re.findall(r"^([\w-]+)(?: [\w-]+)*:", (ROOT / "Makefile").read_text(), re.M))
    assert {path.stem for path in WORKFLOWS} == {"docs", "explore", "release", "tests", "wheels"}
    for path in WORKFLOWS:
        for step in steps_of(path):
            for line in step.get("run", "").splitlines():
                if line.startswith("make "):
                    assert {word for word in line.split()[1:] if "=" not in word} <= targets, line
                if line.startswith(".ci/"):
                    assert (ROOT / line).exists()


def test_versions_are_those_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tested = load(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]["strategy"]["matrix"][
        "python"
    ]
    named = [
        found[1]
        for line in project["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    ]
    assert named == tested
    assert project["requires-python"] == f">={tested[0]}"


def test_extras_are_those_that_refusals_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = project["optional-dependencies"]
    assert {*EXTRAS, "dev", "docs", "examples"} == set(listed)
    core = {re.split(r"[^\w-]", line)[0] for line in project["dependencies"]}
    for extra, (_, packages) in EXTRAS.items():
        names = [re.split(r"[^\w-]", line)[0] for line in listed[extra]]
        assert [name for name in names if name not in core] == packages.split(), extra
        if extra != "irds":
            # its tests need data from the network
            assert {*names} - core <= {re.split(r"[^\w-]", line)[0] for line in listed["dev"]}, extra


def test_every_compiled_module_has_a_stub() -> None:
    sources = sorted((ROOT / "src").rglob("*.pyx"))
    assert len(sources) > 10
    for path in sources:
        stub = path.with_suffix(".pyi")
        defined = set(re.findall(r"^def (\w+)\(", path.read_text(), re.M))
        described = set(re.findall(r"^def (\w+)\(", stub.read_text(), re.M))
        assert defined == described, path.name


def test_numba_is_not_needed(tmp_path: Path) -> None:
    """A dependency of the tests brings it; nothing of ours imports it."""
    code = "import sys; sys.modules.update(numba=None, llvmlite=None)\n" + (
        "from shardwise.cli.main import main; main()"
    )
    table = tmp_path / "t.csv"
    table.write_text("question,a,b\n" + "".join(f"{i},{i % 7 / 7:.3f},{i % 5 / 5:.3f}\n" for i in range(40)))
    done = subprocess.run(
        [sys.executable, "-c", code, "compare", str(table), "-q"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
