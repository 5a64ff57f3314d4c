"""Words that people use in headers, labels and cells; the lists stand in ``words.txt``.

A word is one sign among several: readings ask for a second one, from the numbers, before anything is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from shardwise.core.measure import classify_measure
from shardwise.core.scores import ROLE_OF


def _load_lists() -> dict[str, list[str]]:
    """Return the lists of words by name."""
    text = Path(__file__).with_name("words.txt").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return {
        block.partition(": ")[0]: block.partition(": ")[2].split()
        for block in re.split(r"\n(?=\S)", lines.strip())
    }


LISTS = _load_lists()


def _get_set(*names: str) -> frozenset[str]:
    return frozenset(word for name in names for word in LISTS[name])


ITEMS, PEOPLE, SYSTEMS, ARMS = (_get_set(name) for name in ("items", "people", "systems", "arms"))
"""Headers of the columns of what is scored, of people, who may see one system each, of systems, and of their groups."""
REPEATS, SAMPLED, FOLDS = _get_set("repeats"), _get_set("sampled"), _get_set("folds")
"""Headers of the column that tells repeated scores apart; of repeats drawn anew for each item; of parts of the data."""
TASKS, SLICES, CLUSTERS = _get_set("tasks"), _get_set("slices"), _get_set("clusters")
"""Headers of what items belong to: tasks of their own, kinds of items, what several items have in common."""
MEASURE_COLUMNS = _get_set("measure_columns")
SWING = {
    word: tuple(roles.split(",")) for word, _, roles in (entry.rpartition("=") for entry in LISTS["swing"])
}
SWING[""] = ("topic",)
"""Headers that mean the first of these roles that no other column has."""
NAMELESS = _get_set("nameless") | {""}
"""Headers that say nothing of what the rows are."""
WINNERS, VOTERS, ORDERS = _get_set("winners"), _get_set("voters"), _get_set("orders")
"""Headers of votes: who won, who voted, which system was shown first."""
TIES, TIE_COLUMNS, NO_VOTE = _get_set("ties"), _get_set("tie_columns"), _get_set("no_vote") | {""}
"""Cells and headers that say that neither of two systems won; cells of a vote that was not given."""
SECOND_FIRST, FIRST_FIRST = _get_set("second_first"), _get_set("first_first")
"""Cells that say which of two systems was shown first."""
VALUES, OUTCOMES, HEADLINES = _get_set("values"), _get_set("outcomes"), tuple(LISTS["headlines"])
"""Headers of numbers that do not say what of; headers of scores; measures that come first, in their order."""
PARTS_OF_DATA, _AROUND = _get_set("parts_of_data"), _get_set("around_measures")
BOOKKEEPING, TEXTS = _get_set("bookkeeping"), _get_set("texts")
"""Parts of headers of numbers and of text that are kept beside scores."""
TRUTHS, PREDICTIONS = _get_set("truths"), _get_set("predictions")
"""Headers of what is true of items, and parts of headers of what systems say of them: neither is a score."""
SUMMARIES = _get_set("means", "sums", "spreads", "order_statistics", "counts", "wholes")
"""Words for a mean, and for a row or column that sums up others."""
MEANS = _get_set("means")
SUMMARY_COLUMNS, DELTAS = SUMMARIES | _get_set("differences"), _get_set("deltas")
_FILLERS, _ENDINGS = _get_set("fillers"), _get_set("endings")
MISSING = _get_set("missing") | {""}
"""Cells in which a score is not there."""
VERDICTS = dict.fromkeys(LISTS["true"], 1.0) | dict.fromkeys(LISTS["false"], 0.0) | {"tie": 0.5, "draw": 0.5}
"""Cells that are a verdict in a word."""
LETTERS = tuple(
    {entry.partition("=")[0]: float(entry.partition("=")[2]) for entry in letters.split(",")}
    for letters in LISTS["letters"]
)
"""Verdicts of one letter, where a table has no others."""
LABELS = frozenset({"topic", "system", "instance", "shard", "split", "task", "cluster", "measure"})

_RANKED = re.compile(
    r"(g?map|ap|n?dcg|ndcg_cut|map_cut|mrr|rr|recip_rank|err|rbp|bpref|infap|recall|precision|success|hits?|hit_rate|"
    r"judged|fbeta|rprec|iprec_at|setp|setr|setf|set_p|set_recall|set_f|gm_map|alpha_ndcg|arp)"
    r"(\([^)]*\))?([@_.]\d+(\.\d+)?)?|[rpf]@\d+|[pr]_\d+|(p|ndcg|map|recall|success|hits?|mrr|r)\d+|f_?\d(\.\d)?|"
    r"rouge_?(\d|l|lsum|w|su)?|(pass|acc|maj|cons)@\d+|bleu_?\d"
)
_MODELS, _BENCHMARKS = (re.compile("|".join(LISTS[name])) for name in ("models", "benchmarks"))
_ITEM_NAME = re.compile(
    r"(q|t|topic|query|question|item|ex|example|doc|case|test|frage|task|sample|prompt|no|nr|#)[\s_\-#.:]*\d+|\d{4}-\d\d-\d\d"
)
_SYSTEM_NAME = re.compile(
    r"(s|sys|system|run|m|model|method|variant|config|agent|team|v|algo|approach)[\s_\-#.:]*\d+"
)
_NUMBERED = re.compile(r"(?!\d+\.\d+$)(.*?)(\d+)")


def simplify_header(header: str) -> str:
    """Return a header in lower case, without accents and with underscores.

    >>> simplify_header("Question ID"), simplify_header("model-name"), simplify_header("Modèle")
    ('question_id', 'model_name', 'modele')
    """
    return re.sub(r"[\s\-]+", "_", remove_accents(header).strip().lower())


@lru_cache(maxsize=4096)
def remove_accents(text: str) -> str:
    """Return text without accents of Latin letters.

    >>> remove_accents("Durée für Ø 平均")
    'Duree fur Ø 平均'
    """
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    kept = "".join(part for part in parts if not unicodedata.combining(part))
    return unicodedata.normalize("NFC", kept)


def split_words(header: str) -> list[str]:
    """Return the words of a header.

    >>> split_words("latencyMs"), split_words("Total (mean):"), split_words("cost_usd")
    (['latency', 'ms'], ['total', 'mean'], ['cost', 'usd'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", remove_accents(header))
    return [word for word in re.split(r"[\s_\-.,:;()\[\]/|]+", apart.lower()) if word]


def end_word(header: str, part: int) -> str:
    """Return the first (0) or last (-1) word of a header as it is written; one written in capitals is one.

    >>> end_word("System A nDCG", -1), end_word("whisper_errors", -1), end_word("hit3~base", 0)
    ('nDCG', 'errors', 'hit3')
    """
    parts = [word for word in re.split(r"[\s_\-.,:;()\[\]/|~]+", header) if word]
    return parts[part] if parts else ""


def means_score(word: str, part: int) -> bool:
    """Tell whether the first or last word of a header names a measure; errors and amounts come last: not cost-aware."""
    return bool(find_measure(word) or (part and classify_measure(word)))


def list_roles(header: str) -> tuple[str, ...]:
    """Return what a column of this name may be, best first.

    >>> list_roles("run_id"), list_roles("Question ID"), list_roles("answer"), list_roles("Modell")
    (('system', 'instance'), ('topic',), (), ('system',))
    >>> list_roles("classifier_name"), list_roles("run_idx"), list_roles("domain")
    (('system',), ('instance',), ('slice',))
    """
    word = simplify_header(header)
    if word in SWING:
        return SWING[word]
    known = (
        ("measure", MEASURE_COLUMNS), ("cluster", CLUSTERS), ("task", TASKS), ("slice", SLICES), ("topic", ITEMS),
        ("system", SYSTEMS), ("instance", REPEATS),
    )  # fmt: skip
    roles = [role for role, words in known if word in words]
    if word in ROLE_OF and ROLE_OF[word] not in roles:
        roles.append(ROLE_OF[word])
    inner = re.split(r"[./:]", word)[-1]
    if not roles and inner != word and inner not in SWING:
        # params.model, vars.question
        return list_roles(inner)
    stem, _, ending = word.rpartition("_")
    if not roles and stem and ending in _ENDINGS:
        named = ending in ("name", "label", "id", "key") or stem not in SWING
        roles = [role for role in list_roles(stem) if named or role != "system"]
    if not roles and not is_score(word):
        roles = [role for role, words in known[4:6] if ends_in_word(word, words)]
    if not roles and ending == "id" and not is_bookkeeping(stem):
        roles = ["topic"]
    return tuple(roles)


def ends_in_word(header: str, words: frozenset[str] = ITEMS | SYSTEMS) -> bool:
    """Tell whether a header is a longer name that ends in a known word: eval_question, llm_model.

    Parameters
    ----------
    header : str
        The header.
    words : frozenset of str
        The known words.

    Returns
    -------
    bool
        Whether it does; not where it is a known word itself.

    >>> ends_in_word("llm_model"), ends_in_word("Our method"), ends_in_word("method"), ends_in_word("query_id")
    (True, True, False, False)
    """
    word = simplify_header(header)
    return word not in words and "_" in word and word.rsplit("_", 1)[-1] in words


def is_value(header: str) -> bool:
    """Tell whether a header says that a column holds scores without saying of what."""
    return simplify_header(header) in VALUES


def is_measure(header: str) -> bool:
    """Tell whether a header is the name of a measure.

    >>> is_measure("P@10"), is_measure("nDCG@10"), is_measure("bm25"), is_measure("rouge_score(mode=fmeasure)")
    (True, True, False, True)
    >>> is_measure("rmse_test"), is_measure("eval_metrics/MASE[0.5]"), is_measure("f1-loss"), is_measure("recall-tuned")
    (True, True, False, False)
    """
    return bool(find_measure(header))


def find_measure(header: str) -> str:
    """Return the measure that a header names, without the words around it; nothing where it names none or several.

    >>> find_measure("test_acc"), find_measure("R2 (of the fit)"), find_measure("our model")
    ('acc', 'r2', '')
    """
    word = re.sub(r"[(\[].*[)\]]$", "", simplify_header(header)).strip("_")
    if _is_known_measure(word.removesuffix("_score")):
        return word.removesuffix("_score")
    parts = [part for part in re.split(r"[_/\s]+|(?<=[a-z])\.(?=[a-z])", word) if part not in _AROUND]
    return parts[0] if len(parts) == 1 and parts[0] != word and _is_known_measure(parts[0]) else ""


def _is_known_measure(word: str) -> bool:
    return word in OUTCOMES or _RANKED.fullmatch(word) is not None


def find_headline(headers: Sequence[str]) -> str:
    """Return the measure that comes first among several, where one does.

    >>> find_headline(["loss", "accuracy", "f1"]), find_headline(["AP", "RR"])
    ('accuracy', '')
    """
    named = [(find_measure(header) or simplify_header(header), header) for header in headers]
    for word in HEADLINES:
        matches = [header for name, header in named if name == word]
        if matches:
            return matches[0] if len(matches) == 1 else ""
    return ""


def is_score(header: str) -> bool:
    """Tell whether a header says that a column holds scores."""
    return is_value(header) or is_measure(header)


def is_bookkeeping(header: str) -> bool:
    """Tell whether a header names a number that is kept beside scores: cost, latency_ms, year, #params.

    >>> is_bookkeeping("latency_ms"), is_bookkeeping("n_docs"), is_bookkeeping("bm25"), is_bookkeeping("#Params (B)")
    (True, True, False, True)
    """
    parts, counted = split_words(header), header.startswith("#") and len(header.strip()) > 1
    return counted or not BOOKKEEPING.isdisjoint([simplify_header(header), *parts]) or parts[-1:] == ["id"]


def is_wordy(header: str) -> bool:
    """Tell whether a header names text that stands beside scores: answer, comment."""
    return not TEXTS.isdisjoint([simplify_header(header), *split_words(header)])


def is_summary(label: str) -> bool:
    """Tell whether a label of a row says that it sums up other rows; one or two Latin letters say too little.

    >>> [is_summary(label) for label in ("Average:", "Mean ± SD", "Mittelwert", "Macro avg", "q1", "all things")]
    [True, True, True, True, False, False]
    """
    parts = split_words(label) or list(label.strip().lower())
    short = {part for part in parts if part.isascii() and len(part) < 3 and part != "sd"}
    return not SUMMARIES.isdisjoint(set(parts) - short) and (SUMMARIES | _FILLERS).issuperset(parts)


def is_summary_header(header: str) -> bool:
    """Tell whether a header says that its column sums up other columns."""
    parts = split_words(header) or list(header.strip().lower())
    named = not SUMMARY_COLUMNS.isdisjoint(parts) and (SUMMARY_COLUMNS | _FILLERS).issuperset(parts)
    mean_of = (
        parts[:1] != parts and parts[0] in MEANS and not (OUTCOMES | VALUES | _AROUND).isdisjoint(parts[1:])
    )
    return named or mean_of or simplify_header(header) in SUMMARY_COLUMNS


def share_of_models(names: list[str]) -> float:
    """Return the share of names that look like systems: bm25, llama-3-8b, run12.

    >>> share_of_models(["gpt-4", "llama-3-8b", "q1"])
    0.6666666666666666
    """
    lower = [name.strip().lower() for name in names]
    hits = sum(bool(_MODELS.search(name) or _SYSTEM_NAME.fullmatch(name)) for name in lower)
    return hits / len(lower) if lower else 0.0


def share_of_items(names: list[str]) -> float:
    """Return the share of names that look like items: q12, 301, a date, a sentence, the name of a benchmark.

    >>> share_of_items(["q1", "302", "What is the capital of France?", "bm25"])
    0.75
    """
    lower = [name.strip().lower() for name in names]
    hits = sum(
        bool(
            _ITEM_NAME.fullmatch(name)
            or name.isdecimal()
            or _BENCHMARKS.search(name)
            or (len(name) > 25 and name.count(" ") > 2)
            or name.endswith(("?", "？"))
        )
        for name in lower
    )
    return hits / len(lower) if lower else 0.0


def is_numbered(names: list[str]) -> bool:
    """Tell whether names differ in their last number only: x1, x2, x10; not fractions, such as settings.

    >>> is_numbered(["x1", "x2", "x10"]), is_numbered(["bm25", "dense"]), is_numbered(["0.1", "0.2", "0.5"])
    (True, False, False)
    """
    matches = [_NUMBERED.fullmatch(name.strip()) for name in names]
    heads = {match[1] for match in matches if match}
    return len(names) > 2 and all(matches) and len(heads) == 1
