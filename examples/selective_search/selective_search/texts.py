"""Documents, queries and judgments of a test collection."""

from __future__ import annotations

import gzip
import importlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardwise.core.errors import InputError

DOCUMENT = re.compile(r"<DOC>\s*<DOCNO>\s*(.*?)\s*</DOCNO>(.*?)</DOC>", re.DOTALL)
QUERY = re.compile(r"<num>\s*(.*?)\s*</num>\s*<title>\s*(.*?)\s*</title>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts by number: documents in byte order of their names, topics in the order of the source."""

    docnos: tuple[str, ...]
    documents: tuple[str, ...]
    topics: tuple[str, ...]
    queries: tuple[str, ...]
    qrels: Mapping[str, Mapping[str, int]]  # of these topics and documents
    left_out: int  # judgments of documents that the collection does not have

    @staticmethod
    def of(
        documents: Iterable[tuple[str, str]],
        queries: Iterable[tuple[str, str]],
        judgments: Iterable[tuple[str, str, int]],
        where: str,
    ) -> Texts:
        """Put the parts together; topics without a relevant document say nothing and are left out, and so are
        judgments of unknown documents, which are counted.
        """
        texts = dict(documents)
        docnos = sorted(texts, key=str.encode)
        qrels: dict[str, dict[str, int]] = {}
        left_out = 0
        for topic, docno, grade in judgments:
            if docno in texts:
                qrels.setdefault(topic, {})[docno] = grade
            else:
                left_out += 1
        useful = [(t, text) for t, text in queries if max(qrels.get(t, {}).values(), default=0) > 0]
        if not docnos or not useful:
            raise InputError(
                f"{len(docnos)} documents and {len(useful)} topics with relevant documents",
                where=where,
                remedy="check that documents, queries and qrels belong together",
            )
        topics = tuple(topic for topic, _ in useful)
        return Texts(
            docnos=tuple(docnos),
            documents=tuple(texts[docno] for docno in docnos),
            topics=topics,
            queries=tuple(text for _, text in useful),
            qrels={topic: qrels[topic] for topic in topics},
            left_out=left_out,
        )


def load_trec(folder: Path) -> Texts:
    """Read `doc-text.trec.gz`, `query-text.trec` and `qrels` of a folder, as the Vaswani collection comes."""
    paths = [folder / name for name in ("doc-text.trec.gz", "query-text.trec", "qrels")]
    for path in paths:
        if not path.is_file():
            raise InputError(
                "is not there", where=str(path), remedy="set SHARDWISE_DATA, or use --ir-dataset"
            )
    documents = ((docno, TAG.sub(" ", text)) for docno, text in DOCUMENT.findall(_read(paths[0])))
    rows = (line.split() for line in _read(paths[2]).splitlines() if line.strip())
    judgments = ((topic, docno, int(grade)) for topic, _, docno, grade in rows)
    return Texts.of(documents, QUERY.findall(_read(paths[1])), judgments, str(folder))


def load_ir_dataset(name: str) -> Texts:
    """Fetch a collection of the ir_datasets catalogue, for instance "vaswani" or "cord19/trec-covid"."""
    try:
        catalogue: Any = importlib.import_module("ir_datasets")
    except ModuleNotFoundError:
        raise InputError("ir_datasets is not installed", remedy="pip install ir_datasets") from None
    dataset = catalogue.load(name)
    return Texts.of(
        ((str(doc.doc_id), str(doc.default_text())) for doc in dataset.docs_iter()),
        ((str(query.query_id), str(query.default_text())) for query in dataset.queries_iter()),
        ((str(q.query_id), str(q.doc_id), int(q.relevance)) for q in dataset.qrels_iter()),
        f"ir_datasets:{name}",
    )


def _read(path: Path) -> str:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return file.read()
    return path.read_text(encoding="utf-8")
