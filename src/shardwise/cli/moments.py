"""shardwise moments: systems compared on tables of any length."""

from __future__ import annotations

from functools import reduce
from operator import add
from pathlib import Path

import pandas as pd

from shardwise.cli.commands.moments import MomentsOptions
from shardwise.cli.inputs import roles_of_columns
from shardwise.cli.output import emit, progress
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.errors import InputError
from shardwise.io.atomic import write_atomically
from shardwise.methods.moments.fit import TESTS, Gaps, ScoreMoments, margins_alone
from shardwise.procedures.running import compare
from shardwise.procedures.vocabulary import parse

MOMENTS = ".moments"


def compare_moments(options: MomentsOptions) -> None:
    """Read each input once, add the moments, compare the systems; keep the moments where asked."""
    method = options.method or ("MD1 hsd topic" if options.margins else "moderated")
    test = parse(method).fit.name
    if options.margins and test in TESTS and test != "MD1":  # before hours of reading
        raise margins_alone(f"differences by {test}")
    if options.save is not None and options.save.suffix != MOMENTS:
        raise InputError("is no name of moments", where=str(options.save), remedy=f"let it end in {MOMENTS}")
    total = reduce(add, [_read(path, options) for path in options.inputs])
    found = compare(total, method, baseline=options.baseline or None, seed=options.seed)
    if options.save is not None:
        total.save(options.save)
    if options.pairs is not None:
        table = found.to_frame(1.0 - options.alpha).to_csv(index=False, lineterminator="\n")
        write_atomically(options.pairs, table.encode())
    _tell(total, found, options)


def _read(path: Path, options: MomentsOptions) -> ScoreMoments:
    if path.suffix == MOMENTS:
        kept = ScoreMoments.load(path)
        return kept.margins() if options.margins else kept
    gaps: Gaps = "drop" if options.missing == "drop" else "refuse"
    with progress(f"{path.name}: items read", options.quiet) as told:
        return ScoreMoments.of(
            path,
            columns=roles_of_columns(options.columns),
            missing=gaps,
            margins=options.margins,
            progress=lambda done, _: told(done, done),
        )


def _tell(total: ScoreMoments, found: Comparisons, options: MomentsOptions) -> None:
    table = found.intervals(1.0 - options.alpha).reset_index().rename(columns={"estimate": "mean"})
    if found.complete:
        ranks = found.ranks(1.0 - options.alpha).reset_index(drop=True)
        table = pd.concat([table, ranks[["lowest", "highest"]]], axis=1)
    facts = {
        "procedure": found.procedure,
        "claim": found.claim,
        "items": total.n,
        "dropped": total.dropped,
        "alpha": options.alpha,
    }
    notes = () if options.quiet else found.notes
    emit(table, options.shown, options.out, title=found.summary(options.alpha), notes=notes, facts=facts)
