"""shardwise paper: a folder of files for a paper."""

from __future__ import annotations

import pandas as pd

from shardwise.analysis.answer import headline
from shardwise.cli.commands.paper import PaperOptions
from shardwise.cli.leaderboard import analysed
from shardwise.cli.options import Format
from shardwise.cli.output import emit
from shardwise.report.paper import write_paper


def write_files(options: PaperOptions) -> None:
    """Write the files, and say what they hold."""
    found = analysed(options, baseline=tuple(options.baseline) or None)
    files = write_paper(options.out, *found, columns=options.columns)
    if options.quiet and options.format is Format.text:
        return
    first = found[0]
    frame = pd.DataFrame([{"file": str(options.out / file.name), "holds": file.holds} for file in files])
    facts = {
        "folder": str(options.out),
        "procedure": first.procedure.name,
        "claim": first.comparisons.claim,
        "measures": [one.measure for one in found],
        "baselines": list(first.baselines),
        "alpha": first.alpha,
    }
    notes = () if options.quiet else first.notes
    emit(frame, options.format, title=f"{first.heading()}\n{headline(first)}", notes=notes, facts=facts)
