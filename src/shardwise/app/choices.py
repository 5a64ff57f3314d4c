"""What a person chose on the page, or a program by the API -> options of a command; and options in the page's words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from shardwise.app.store import Choices
from shardwise.app.uploads import sanitize_name
from shardwise.cli.options import Param, list_commands
from shardwise.cli.parsing import parse_texts
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError, Option, refuse_unknown

ROLES = ("item", "system", "score", "instance", "cluster", "task", "shard", "split", "measure")
"""What a column may be, in the words of the option columns."""

FLAGS = ("lower_is_better", "higher_is_better", "joint")
"""Options without a value."""
ROWS: dict[str, dict[str, Param]] = {
    kind: {name: row for name, row in list_commands()[kind,].every.items() if kind in row.web.split()}
    for kind in ("compare", "calibrate", "repeat")
}
ALLOWED = {kind: ("files", *rows) if rows else () for kind, rows in ROWS.items()}
"""Options that may be chosen: none of them names a file, but files and people's scores some of those that were sent."""

SHARDS = "5"  # how many are suggested
LABELS = {
    "measure": "Measures",
    "generalize": "What the answer is about",
    "baseline": "Baseline",
    "by": "Break the answer down by",
    "joint": "Correct all measures together",
    "columns": "Columns",
    "n_shards": "Shards",
    "shards": "Shards",
    "n_splits": "Splits",
    "splits": "Splits",
    "kind": "How documents fall into shards",
    "corpus": "Documents in the whole corpus",
    "human": "File of scores by people",
    "model": "Model",
    "method": "Method",
    "alpha": "Level",
    "fill": "Undefined scores",
    "missing": "Missing topics or scores",
    "names": "Names of systems",
    "range": "Lowest and highest possible score",
    "lower-is-better": "Lower scores are better",
    "higher-is-better": "Higher scores are better",
    "depth": "Depth",
    "repeats": "Repeats are",
    "seed": "Random seed",
    "calibration": "Simulated data sets for error rates",
}
"""What the page calls the options that it has."""
VALUES = {"repeats": ("seeds", "samples"), "names": ("tag", "file"), "missing": ("zero", "drop", "refuse")}
"""Values that sentences give to options."""


def list_claim_choices(reading: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what an answer may be about: the value of the option generalize, its words, and a hint.

    With one score of each system on each topic, exactly these topics cannot be tested; so there is
    nothing to choose unless there are seeds or shards.

    Parameters
    ----------
    reading
        How the files were understood.

    >>> list_claim_choices({"kind": "scores", "dims": ["topic", "system"], "nouns": {"topic": "question"}})
    [('', 'New questions like these', 'Would the result be the same with other questions?')]
    """
    nouns, dims = reading.get("nouns") or {}, reading.get("dims") or ()
    topics, seed = pluralize_noun(nouns.get("topic", "topic")), nouns.get("instance", "seed")
    like = f"New {topics} like these"
    hint = f"Would the result be the same with other {topics}?"
    if "instance" in dims:
        return [
            ("", f"{like}, any {seed}", f"{hint} And with another {seed}?"),
            (
                "topic",
                f"{like}, exactly these {pluralize_noun(seed)}",
                f"No other {pluralize_noun(seed)} will be used.",
            ),
        ]
    if reading.get("kind") == "runs" or "shard" in dims:
        needs = " Needs shards: see the settings." if reading.get("kind") == "runs" else ""
        return [
            ("", like, f"{hint} What most people mean."),
            ("these", f"Exactly these {topics}", f"No claim about other {topics}.{needs}"),
        ]
    return [("", like, hint)]


MOST, LONGEST = 200, 500  # values of an option, and characters of one
MOST_FILES = 2000  # that are named as those to be used


class Misplaced(InputError):
    """A choice that another analysis may have, but not this one."""


def validate_choices(given: Any, kind: str, *, typed: bool = False) -> Choices:
    """Return choices that are lists of text under names of options, or refuse what the command line would refuse.

    Parameters
    ----------
    given
        From elsewhere: an object of texts, numbers and lists of them.
    kind
        The command.
    typed
        Whether numbers come as texts in lists, as a form has them.

    >>> validate_choices({"measure": ["AP", "P@10"], "shards": 5, "model": ""}, "compare")
    {'measure': ['AP', 'P@10'], 'shards': ['5']}
    """
    if not isinstance(given, dict):
        raise InputError("the choices are not an object", remedy='give for instance {"measure": ["AP"]}')
    choices: Choices = {}
    for name, value in given.items():
        if name not in ALLOWED[kind]:
            if any(name in names for names in ALLOWED.values()):
                raise Misplaced(f"{kind} has no option {name}", remedy="leave it out")
            raise refuse_unknown("option", name, ALLOWED[kind])
        if not typed and name != "files" and ROWS[kind][name].kind in (int, float):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"{name} must be a number", remedy="give it without quotes and brackets")
            # JSON has one kind of numbers: 20.0 is whole
            value = int(value) if isinstance(value, float) and value.is_integer() else value
        values = value if isinstance(value, list) else [value]
        if name in FLAGS and isinstance(value, bool):
            values = ["true"] if value else []
        plain = all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in values)
        if len(values) > (MOST_FILES if name == "files" else MOST) or not plain:
            raise InputError(f"{name} must be text, a number or a list of them")
        texts = [str(item).strip() for item in values]
        if any(len(text) > LONGEST for text in texts):
            raise InputError(f"{name} is longer than {LONGEST} characters")
        if kept := [text for text in texts if text]:
            if name == "corpus" and not kept[-1].isdecimal():
                raise InputError("the corpus is a number of documents here", remedy="count them")
            if name == "kind" and any(":" in text for text in kept):
                raise InputError("kind takes no file, expression or sizes here", remedy="give its name alone")
            if name in ("human", "files"):
                for file in kept:
                    if file != str(sanitize_name(file)):
                        raise not_sent(file)
            choices[name] = kept
    # files are those that were sent, which stand elsewhere
    texts_of = {name: texts for name, texts in choices.items() if name not in ("files", "human")}
    parse_texts(list_commands()[kind,], texts_of)
    return choices


def not_sent(name: str) -> Misplaced:
    """Return the refusal of a file that is none of those of the analysis.

    Parameters
    ----------
    name
        The file.
    """
    return Misplaced(f"{name!r} is not one of the files that were sent", remedy="send it with them")


def from_form(form: Sequence[tuple[str, str]], reading: Mapping[str, Any], kind: str) -> Choices:
    """Return what a form says; a setting that is left as it is says nothing.

    Parameters
    ----------
    form
        Names and values of its fields.
    reading
        How the files were understood.
    kind
        The command.
    """
    fields: dict[str, list[str]] = {}
    for name, value in form:
        fields.setdefault(name, []).append(value)
    given: dict[str, Any] = {name: fields[name] for name in ALLOWED[kind] if name in fields}
    if "measure" in given:
        given["measure"] = [part.strip() for text in given["measure"] for part in text.split(";")]
    if fields.get("direction", [""])[-1] in FLAGS:
        given[fields["direction"][-1]] = ["true"]
    if "role" in fields and (columns := chosen_columns(reading, fields["role"])):
        given["columns"] = columns
    if fields.get("versus") == ["all"]:
        given.pop("baseline", None)
    elif fields.get("versus") == ["baseline"] and not any(given.get("baseline", [])):
        raise InputError("no baseline is chosen", remedy=("choose one in ", Option("baseline")))
    if (
        reading.get("kind") == "runs"
        and given.get("generalize") == ["these"]
        and not any(given.get("shards", []))
    ):
        raise InputError(
            "a claim about exactly these topics needs shards",
            remedy=("choose ", Option("shards", SHARDS)),
        )
    return validate_choices(given, kind, typed=True)


def chosen_columns(reading: Mapping[str, Any], roles: Sequence[str]) -> list[str]:
    """Return the option columns that says what a person changed; nothing where the guess was confirmed.

    Parameters
    ----------
    reading
        As `understand` returned it.
    roles
        What the person says each shown column is, in their order; "" for one that is not used.

    >>> read = {"columns": [{"name": "q", "role": "item"}, {"name": "m", "role": ""}, {"name": "x", "role": "score"}]}
    >>> chosen_columns(read, ["item", "", "score"]), chosen_columns(read, ["item", "system", "score"])
    ([], ['item=q', 'system=m', 'score=x'])
    """
    columns = reading["columns"]
    if len(roles) != len(columns) or all(
        column["role"] == role for column, role in zip(columns, roles, strict=True)
    ):
        return []
    named: dict[str, list[str]] = {}
    for column, role in zip(columns, roles, strict=True):
        if role in ROLES:
            named.setdefault(role, []).append(str(column["name"]))
    twice = next(
        (role for role, names in named.items() if len(names) > 1 and role not in ("system", "score")), None
    )
    if twice is not None:
        raise InputError(
            f"columns {', '.join(named[twice])} are all assigned to {twice}",
            remedy=("choose one in ", Option("columns")),
        )
    if len(named.get("score", [])) > 1:  # several measures: the reader finds them by itself
        del named["score"]
    return [f"{role}={'+'.join(names)}" for role, names in named.items()]


def spell_option(option: Option) -> str:
    """Write an argument as the page has it.

    >>> spell_option(Option("names", "file")), spell_option(Option("min_diff", 0.1))
    ('the setting “Names of systems”: file', 'min diff 0.1')
    """
    name = LABELS.get(option.name)
    setting = f"the setting “{name}”" if name else option.name.replace("_", " ")
    if option.value is None or option.value is True:
        return setting
    return f"{setting}{':' if name else ''} {option.value}"


def describe_error(error: InputError) -> str:
    """Return the line that a refusal has on the page: files are named as they were sent.

    Parameters
    ----------
    error
        The refusal.

    >>> error = InputError("has more than one run tag", where="inputs/a.run", remedy=("use ", Option("names", "file")))
    >>> describe_error(error)
    'a.run: has more than one run tag; use the setting “Names of systems”: file'
    """
    text = spell_settings(error.text(spell_option, command=True))
    return text.removeprefix("inputs/").replace(" inputs/", " ")


def spell_settings(text: str) -> str:
    """Return a sentence for the command line as the page has it: options are its settings.

    Parameters
    ----------
    text
        The sentence.

    >>> spell_settings("For more power, add --repeats samples.")
    'For more power, add the setting “Repeats are”: samples.'
    """
    for name, label in LABELS.items():
        values = "|".join(VALUES.get(name, ()))
        text = re.sub(rf"--{name} ({values})\b", rf"--{name}: \1", text) if values else text
        text = re.sub(rf"--{name}\b", f"the setting “{label}”", text)
    return text
