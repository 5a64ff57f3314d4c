"""shardwise stability: would other shards have led to the same conclusions?"""

from __future__ import annotations

from typing import Any

from shardwise.cli import inputs
from shardwise.cli.commands.stability import StabilityOptions
from shardwise.cli.output import emit, progress
from shardwise.comparing.stability import stability
from shardwise.numerics.corrections import known

MEANINGS = {
    "AA": "pairs where both splits find the same system better",
    "AD": "pairs where they find opposite systems better",
    "PA": "pairs where neither finds a difference",
    "PD": "pairs where only one does",
    "PAA": "agreement on differences, 2AA/(2AA+PD)",
    "PPA": "agreement on no difference, 2PA/(2PA+PD)",
}


def compare_splits(options: StabilityOptions) -> None:
    """Compare the systems on each split and print how far the splits agree."""
    format = options.shown
    bootstrap = inputs.bootstrap_options(options.fit, options.resamples)
    parsed = inputs.model(options.model)  # refused before the long work, here and below
    method = known(options.method or ("bh" if bootstrap else "hsd"))
    inputs.fill_policy(options.fill)
    read = inputs.RunInputs.of(options).one_measure().read()
    scores, told = inputs.filled(inputs.single(read), options.fill)
    how: dict[str, Any] = (
        {"fit": "bootstrap", "n_resamples": options.resamples, "seed": options.seed} if bootstrap else {}
    )
    with progress("comparing splits", options.quiet) as bar:
        result = stability(
            scores,
            parsed,
            method,
            alpha=options.alpha,
            generalize=inputs.dimensions(options.generalize),
            progress=bar,
            **how,
        )
    frame = result.mean().reset_index()
    frame["meaning"] = frame["figure"].map(MEANINGS)
    title = str(result).splitlines()[0]
    facts = {"alpha": options.alpha, "splits": len(result.comparisons), "claim": result.comparisons[0].claim}
    notes = () if options.quiet else (*read.notes, *told)
    emit(frame, format, options.out, title=title, notes=notes, facts=facts)
