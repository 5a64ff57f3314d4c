"""Functions and programs of others as procedures of the laboratory, which tries them as it tries our own.

A table reaches them with its items shuffled and its systems shuffled and renamed, so that nothing but the scores can be
used. What they say of pairs becomes `Pairs`. One that raises an error, says nonsense, takes too long or crashes is not
asked again: the reason is kept, and its row is left out.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Floats, Ints, make_generator
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.processes import HOME, python_command, python_environment
from shardwise.core.text import shorten_name
from shardwise.lab.child import PATH
from shardwise.methods.method import Method
from shardwise.methods.names import Procedure
from shardwise.methods.pairs import Means, Pairs
from shardwise.methods.tables import SHARDS, TABLE, Dims, Tables

ERROR_RATES = ("pair", "family", "discovery")
"""Error rates that a method may control; without one named, that of each pair by itself."""
PATIENCE = 60
"""Seconds that a program may take for one table."""
MEMORY = 4 << 30
"""Bytes that a program may take."""
LINE = 200
"""Characters that are shown of an error of others."""
FUNCTION = re.compile(r"[^\s{}]+:[A-Za-z_][\w.]*")
INSTANCES = ("topic", "system", "instance")
SAID = ("p", "lower", "upper", "difference")
Answer = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class OutsideProcedure(Procedure):
    """A function of a table that says which pairs of systems differ, asked about one table after another."""

    answer: Any = None
    controls: str = "pair"
    # why it is not asked any more; shared by all threads
    trouble: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self.method.name

    @property
    def error_rate(self) -> str:
        """The error rate that it is said to control."""
        return self.controls

    def for_layout(self, dims: Dims) -> OutsideProcedure:
        """Return the same about new topics, and about new instances where there are some."""
        return replace(self, claim=Claim("topic", "instance") if "instance" in dims else Claim("topic"))

    def decide(self, tables: Tables, pairs: tuple[Ints, Ints] | None = None) -> Pairs:
        """Ask about every table of a batch; (B, P) figures are NaN once there was no answer."""
        ia, ib = tables.pairs if pairs is None else pairs
        figures = np.full((len(SAID), len(tables), len(ia)), np.nan)
        for i, y in enumerate(tables.y):
            if self.trouble:
                break
            table, places = shuffle_table(y, tables.dims, make_generator(tables.seeds[i], 1))
            names = [str(name) for name in table.columns]
            try:
                figures[:, i] = read_answer(self.answer(table), names)[:, places[ia], places[ib]]
            except (Exception, SystemExit) as error:
                problem = str(error) if isinstance(error, InputError) else _describe_error(error)
                self.trouble.append(f"table {tables.first + i + 1}: {problem}")
        p, lower, upper, difference = figures
        means = tables.topic_means().mean(axis=1)
        middle = np.where(np.isfinite(lower) & np.isfinite(upper), (lower + upper) / 2.0, np.nan)
        for known in (middle, means[:, ia] - means[:, ib]):
            difference = np.where(np.isfinite(difference), difference, known)
        nothing = np.full(p.shape, np.nan)
        decided = Pairs(difference, nothing, nothing, nothing, p, own_limits=lambda level: (lower, upper))
        return replace(decided, p_adjusted=p, systems=int(np.union1d(ia, ib).size))


def wrap_function(answer: Answer, name: str, error_rate: str = "pair") -> OutsideProcedure:
    """Return the procedure that a function of a table is tried as."""
    validate_choice(error_rate, "error_rate", ERROR_RATES)
    claims = ((Claim("topic"), (TABLE, SHARDS)), (Claim("topic", "instance"), (INSTANCES,)))
    method = Method(name=name, title=name, layouts_by_claim=claims, means=_refuse_means)
    return OutsideProcedure(method, "none", Claim("topic"), answer=answer, controls=error_rate)


def is_outside(text: str) -> bool:
    """Return whether a method is named as a function or a program of others.

    >>> [is_outside(text) for text in ("t holm", "mine:test", "family tests.py:t", "run {table} {out}")]
    [False, True, True, True]
    """
    return "{table}" in text or FUNCTION.fullmatch(_split_promise(text)[1]) is not None


def parse_outside(text: str) -> OutsideProcedure:
    """Return the procedure of ``module:function``, ``file.py:function`` or ``command {table} {out}``.

    The name of an error rate in front, as in ``family mine:test``, says what its p-values control.
    """
    error_rate, call = _split_promise(text)
    if "{table}" not in call:
        return wrap_function(load_function(call), call, error_rate)
    if "{out}" not in call:
        raise InputError(
            f"the program {call!r} is not told where to write",
            remedy="write {out} where the name of its output belongs",
            argument="method",
        )
    words = shlex.split(call, posix=os.name != "nt")
    return wrap_function(lambda table: ask_program(words, table), call, error_rate)


def _split_promise(text: str) -> tuple[str, str]:
    """Return the error rate that stands in front of a method, "pair" without one, and the method."""
    first, _, rest = text.strip().partition(" ")
    return (first, rest.strip()) if first in ERROR_RATES else ("pair", text.strip())


def load_function(text: str) -> Answer:
    """Return a function by its file or module; the current folder has its module, but is not searched for others."""
    where, _, name = text.rpartition(":")
    path = Path(where if where.endswith(".py") else where.replace(".", "/") + ".py")
    try:
        if path.is_file():
            spec = spec_from_file_location(f"_judged_{path.stem}", path)
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
        else:
            module = import_module(where)
        function = attrgetter(name)(module)
        if not callable(function):
            raise TypeError(f"{name} cannot be called")
    except (Exception, SystemExit) as error:
        problem = f"{text} cannot be loaded ({_describe_error(error)})"
        remedy = "name a function as module:function or file.py:function"
        raise InputError(problem, remedy=remedy, argument="method", value=text) from None
    answer: Answer = function
    return answer


def shuffle_table(y: Floats, dims: Dims, random: np.random.Generator) -> tuple[pd.DataFrame, Ints]:
    """Return (T, R, …) scores as items by systems, all shuffled and renamed, and the (R,) columns of the systems."""
    orders = [random.permutation(size) for size in y.shape]
    y = y[np.ix_(*orders)]
    items = [f"q{k + 1}" for k in range(len(y))]
    names = [f"s{k + 1}" for k in range(y.shape[1])]
    if y.ndim == 2:
        index = pd.Index(items, name="item")
    else:
        index = pd.MultiIndex.from_product([items, range(1, y.shape[2] + 1)], names=["item", dims[2]])
        y = y.swapaxes(1, 2).reshape(-1, len(names))
    return pd.DataFrame(y, index=index, columns=names), np.argsort(orders[1])


def read_answer(answer: Any, names: list[str]) -> Floats:
    """Return (4, R, R) p-values, limits and differences of what was said about a table; a NaN p-value is no finding.

    An answer is one p-value or verdict a pair in the order of ``itertools.combinations``, a square of them, or a table
    with columns a, b, p (or significant) and, if known, lower, upper, difference; or an object with such a ``pvalue``.
    """
    answer = getattr(answer, "pvalue", answer)
    systems = len(names)
    ia, ib = np.triu_indices(systems, 1)
    if isinstance(answer, pd.DataFrame) and {"a", "b"} <= set(answer.columns):
        ia, ib = (pd.Index(names).get_indexer(pd.Index(answer[column].astype(str))) for column in ("a", "b"))
        if min([*ia, *ib], default=0) < 0:
            raise InputError("it names a system that the table lacks", remedy="use the names of its columns")
        columns = {name: answer[name].to_numpy() for name in ("significant", *SAID) if name in answer}
    else:
        if isinstance(answer, pd.DataFrame):
            answer = answer.reindex(index=names, columns=names)
        values = np.asarray(answer)
        if values.shape == (systems, systems):
            values = values[ia, ib]
        if values.size != len(ia):
            problem = f"it returns {values.size} values for {len(ia)} pairs"
            raise InputError(problem, remedy="return one p-value a pair, or a table with columns a, b, p")
        columns = {"significant" if values.dtype == bool else "p": values.ravel()}
    if "p" not in columns:
        if "significant" not in columns:
            raise InputError("it gives neither p nor significant", remedy="name a column p")
        columns["p"] = np.where(np.asarray(columns["significant"]).astype(bool), 0.0, 1.0)
    square = np.full((len(SAID), systems, systems), np.nan)
    answered = np.eye(systems, dtype=bool)
    answered[ia, ib] = answered[ib, ia] = True
    if not answered.all():
        raise InputError("it leaves pairs out", remedy="return every pair")
    p = np.nan_to_num(np.asarray(columns["p"], dtype=np.float64), nan=1.0)
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise InputError("a p-value is not between 0 and 1", remedy="correct it")
    square[0, ia, ib] = square[0, ib, ia] = p
    for row, name, other in ((1, "lower", "upper"), (2, "upper", "lower"), (3, "difference", "difference")):
        if name in columns and other in columns:
            square[row, ia, ib] = np.asarray(columns[name], dtype=np.float64)
            square[row, ib, ia] = -np.asarray(columns[other], dtype=np.float64)
    if (square[1] > square[2]).any():
        raise InputError("a lower limit is above the upper one", remedy="correct it")
    return square


def ask_program(words: list[str], table: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs that a program wrote about a table, or refuse what it did instead."""
    with tempfile.TemporaryDirectory(prefix="table-") as folder:
        source, target, messages = (
            Path(folder) / name for name in ("table.csv", "pairs.csv", "messages.txt")
        )
        table.to_csv(source)
        command = [word.replace("{table}", str(source)).replace("{out}", str(target)) for word in words]
        folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = os.pathsep.join(
            part for part in folders if part and os.path.realpath(part) != os.path.realpath(HOME)
        )
        with open(messages, "wb") as stream:
            process = subprocess.Popen(
                [*python_command("shardwise.lab.child", str(PATIENCE), str(MEMORY)), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                env={**python_environment(), PATH: path},
                start_new_session=True,
            )
            try:
                code = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                raise InputError(f"no answer after {PATIENCE} seconds", remedy="make it faster") from None
            finally:
                if process.poll() is None:
                    with suppress(OSError):
                        process.kill() if os.name == "nt" else os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if code:
            with open(messages, "rb") as stream:
                stream.seek(max(0, messages.stat().st_size - LINE * 100))
                lines = stream.read().decode("utf-8", "replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "no message")
            ended = f"ended with code {code}" if code > 0 else f"was ended by signal {-code}"
            raise InputError(f"{ended} ({shorten_name(last, LINE)})", remedy="run it by itself")
        if not target.is_file():
            raise InputError("it wrote no file {out}", remedy="write the pairs there")
        frame = pd.read_csv(target, dtype={"a": str, "b": str}, skipinitialspace=True)
    if not {"a", "b"} <= set(frame.columns):
        raise InputError("it wrote no columns a and b", remedy="write a table with columns a, b, p")
    return frame


def _describe_error(error: BaseException) -> str:
    first = next(iter(str(error).strip().splitlines()), "")
    return shorten_name(f"{type(error).__name__}: {first}" if first else type(error).__name__, LINE)


def _refuse_means(tables: Tables, claim: Claim) -> Means:
    raise InputError("a method of others says nothing of means", remedy="name one of ours")
