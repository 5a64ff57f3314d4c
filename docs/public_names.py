"""What is public, and what the docstrings of it say; ``python docs/public_names.py`` tells what they lack."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import NamedTuple

import shardwise as sw

# a name of the top level stands on the page of the room that defines it; each namespace has a page of its own
ROOMS = {
    "io": "reading",
    "sharding": "scoring",
    "scoring": "scoring",
    "core": "fits",
    "methods": "fits",
    "comparing": "comparing",
}
ELSEWHERE = {  # where a reader looks for them, rather than where they are defined
    "as_scores": "reading",
    "InputError": "reading",
    "compare": "comparing",
    "compare_instances": "comparing",
    "paired_tests": "comparing",
}
SECTION = re.compile(
    r"^(Parameters|Returns|Yields|Raises|Attributes|Notes|References|See Also|Examples)\n-{3,}\n",
    re.MULTILINE,
)
NAMES: list[str] = vars(sw)["__all__"]
NOUNS = {
    "The",
    "A",
    "An",
    "What",
    "How",
    "Whether",
    "Where",
    "One",
    "Two",
    "All",
    "Its",
    "Median",
    "Posterior",
}


class Entry(NamedTuple):
    """A name to document: how a user writes it, what it is, and the page that it stands on."""

    name: str  # without "sw."
    value: object
    page: str
    returned_by: str = ""  # a class that has no public name, but that this public function returns

    @property
    def shown(self) -> str:
        """The name as a heading has it."""
        return self.name if self.returned_by else f"sw.{self.name}"


def public() -> Iterator[Entry]:
    """Yield every public name once, those of the top level first."""
    spaces = [name for name in NAMES if isinstance(getattr(sw, name), ModuleType)]
    for name in NAMES:
        value = getattr(sw, name)
        if name not in {*spaces, "__version__"}:
            room = type_or_value(value).__module__.split(".")[1]
            page = room if room in spaces else ROOMS.get(room, "analysis")
            yield Entry(name, value, ELSEWHERE.get(name, page))
    for space in spaces:
        module = getattr(sw, space)
        for name in module.__all__:
            yield Entry(f"{space}.{name}", getattr(module, name), space)


def entries() -> list[Entry]:
    """Return every public name once, each followed by the class of ours that it returns if that has no public name."""
    found: list[Entry] = []
    seen = {id(entry.value) for entry in public()}
    for entry in public():
        found.append(entry)
        result = returned(entry.value)
        if result is not None and id(result) not in seen:
            seen.add(id(result))
            found.append(Entry(result.__name__, result, entry.page, returned_by=entry.name))
    return found


def returned(value: object) -> type | None:
    """Return the class of ours that a function returns by its annotation, or None."""
    if not isinstance(value, FunctionType):
        return None
    result = value.__annotations__.get("return")
    result = value.__globals__.get(result) if isinstance(result, str) else result
    return result if isinstance(result, type) and result.__module__.startswith("shardwise.") else None


def type_or_value(value: object) -> object:
    """Return what defines a value: a class or function itself, or the class of a constant such as MD1."""
    return value if callable(value) else type(value)


def methods(owner: type) -> dict[str, FunctionType]:
    """Return the public methods of a class that we wrote, by name, in the order of the source."""
    found: dict[str, FunctionType] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.split(".")[0] != "shardwise":
            continue
        for name, member in vars(base).items():
            function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            # an override without parameters of its own in its docstring is described by what it overrides
            described_above = name in found and "Parameters\n" not in (getattr(function, "__doc__", "") or "")
            if isinstance(function, FunctionType) and not name.startswith("_") and not described_above:
                found[name] = function
    return found


def properties(owner: type) -> dict[str, str]:
    """Return the public properties of a class with their docstrings."""
    found = {name: value for name, value in inspect.getmembers(owner) if not name.startswith("_")}
    return {
        name: inspect.getdoc(value) or ""
        for name, value in found.items()
        if isinstance(value, property) or type(value).__name__ == "cached_property"
    }


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield every public function and every public method of a class that is documented, by its name."""
    seen: set[int] = set()
    for name, value, *_ in entries():
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, type):
            for method, function in methods(value).items():
                yield f"{name}.{method}", function
        elif callable(value):
            yield name, value


def sections(doc: str) -> dict[str, str]:
    """Cut a docstring at its numpydoc headings; what stands before the first has the key ``""``.

    An example below a list is one of ``Examples``, with or without that heading.

    >>> cut = sections("Add.\\n\\nParameters\\n----------\\nx : int\\n    A number.\\n\\n>>> 1 + 1\\n2")
    >>> cut["Parameters"], cut["Examples"]
    ('x : int\\n    A number.', '>>> 1 + 1\\n2')
    """
    parts = SECTION.split(doc)
    found = {"": parts[0].strip()}
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        listed, _, example = text.strip("\n").partition("\n\n>>> ")
        found[heading] = text.strip("\n") if heading == "Examples" else listed
        if example and heading != "Examples":
            found["Examples"] = f">>> {example}"
    return found


def described(doc: str) -> dict[str, str]:
    """Return the description of each parameter in the section ``Parameters``.

    >>> described("Add.\\n\\nParameters\\n----------\\nx, y : int\\n    Numbers.")
    {'x': 'Numbers.', 'y': 'Numbers.'}
    """
    found: dict[str, str] = {}
    for names, _, text in items(sections(doc).get("Parameters", "")):
        found.update({name.strip().strip("*`"): text for name in names.split(",") if text})
    return found


def items(section: str) -> Iterator[tuple[str, str, str]]:
    """Yield names, type and description of each item of a section: a line, and an indented block below it."""
    for item in re.split(r"\n(?=\S)", section):
        head, _, text = item.partition("\n")
        names, _, kind = head.partition(" : ")
        yield names.strip(), kind.strip(), inspect.cleandoc(text).strip()


def parameters(function: Callable[..., object]) -> list[str]:
    """Return the names of a function's parameters, without self and cls."""
    return [name for name in inspect.signature(function).parameters if name not in {"self", "cls"}]


def written_doc(owner: type) -> str:
    """Return the docstring that a class has of its own, not the one that ``dataclass`` makes up."""
    doc = vars(owner).get("__doc__") or ""
    return "" if doc.startswith(f"{owner.__name__}(") else doc.strip()


def returns_something(function: Callable[..., object]) -> bool:
    """Tell whether the annotation of a function promises anything but None.

    >>> returns_something(returns_something), returns_something(print)
    (True, False)
    """
    try:
        annotation = inspect.signature(function).return_annotation
    except ValueError:
        return False
    return annotation not in (None, "None", inspect.Signature.empty)


def starts_with_verb(doc: str) -> bool:
    """Tell whether the first line may start with a verb: no article, plural, genitive, symbol, or noun before "of".

    >>> [starts_with_verb(line) for line in ("Draw a chart.", "The chart.", "Pairs that differ.", "Name of a run.")]
    [True, False, False, False]
    """
    first, *rest = doc.split(maxsplit=1)
    plain = re.fullmatch(r"[A-Z][a-z]+[,.]?", first) is not None
    noun = first in NOUNS or first.endswith("s") or "".join(rest).startswith(("of ", "between "))
    return plain and not noun


def undescribed() -> dict[str, list[str]]:
    """Return what the docstrings of the public names lack: ``{name: lacks}``; no docstring: an empty list.

    Listed are parameters without a description, parameters without a type, a missing section ``Returns``, and a first
    line that does not start with a verb.
    """
    lacks: dict[str, list[str]] = {}
    for name, value, *_ in entries():
        if isinstance(value, type) and not written_doc(value):
            lacks[name] = []
    for name, function in functions():
        doc = inspect.getdoc(function) or ""
        absent = [parameter for parameter in parameters(function) if parameter not in described(doc)]
        parts = sections(doc)
        for names, kind, _ in items(parts.get("Parameters", "")):
            # what **options takes stands elsewhere, under its own names and types
            untyped = [word.strip() for word in names.split(",") if word.strip() and "**" not in word]
            absent += [f"type of {word}" for word in untyped if not kind and word.strip("*`") not in absent]
        if returns_something(function) and not {"Returns", "Yields"} & set(parts):
            absent.append("section Returns")
        if doc and not starts_with_verb(doc):
            absent.append("verb in the first line")
        if absent or not doc:
            lacks[name] = absent
    return lacks


def gaps() -> str:
    """Tell what lacks a description, a line each; nothing if all is described."""
    return "\n".join(
        f"sw.{name}: {', '.join(absent) or 'no docstring'}" for name, absent in sorted(undescribed().items())
    )


if __name__ == "__main__":
    print(gaps() or "every public name is described")
