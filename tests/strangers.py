"""A folder of a stranger: modules that say when they are imported."""

from __future__ import annotations

from pathlib import Path

MODULES = ("json", "random", "sparse", "socket", "pickle", "tempfile", "inspect")


def put_modules(folder: Path) -> None:
    """Put modules into a folder that leave a mark beside themselves when they are imported."""
    for name in MODULES:
        (folder / f"{name}.py").write_text(
            "from os.path import splitext\nopen(splitext(__file__)[0] + '.imported', 'w').close()\n"
        )


def list_imported(folder: Path) -> list[str]:
    """Names of the modules that were imported."""
    return sorted(path.stem for path in folder.glob("*.imported"))


def forget_imported(folder: Path) -> None:
    """Remove the marks."""
    for path in folder.glob("*.imported"):
        path.unlink()
