"""Which scores a model can be fitted to, and why not others."""

from __future__ import annotations

import xarray as xr

from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import Either, InputError
from shardwise.core.model import Model, format_term
from shardwise.stats.balanced import error_df


def check_design(scores: xr.DataArray, model: Model) -> None:
    """Refuse, with the reason, what the model cannot be fitted to."""
    shape = {str(d): size for d, size in scores.sizes.items()}
    has = ", ".join(shape) or "no dimensions"
    absent = [d for d in model.dimensions if d not in shape]
    if absent:
        remedy = (
            "score on shards, or use MD1" if absent == ["shard"] else "name dimensions that the scores have"
        )
        raise InputError(
            f"{model.short} names {' and '.join(absent)}, but the scores have {has}", remedy=remedy
        )
    if "split" in shape and "split" not in model.dimensions:
        raise InputError(
            f"the scores hold {shape['split']} splits of the same documents, which are not replicates",
            remedy=("choose one", Either(", as in scores.isel(split=0)", ""), ", or name split in the model"),
        )
    if model.on_shards is not None and model.on_shards != ("shard" in shape):
        raise InputError(
            f"{model.name} is for {'shards' if model.on_shards else 'the whole collection'}, but the scores have {has}",
            remedy="use MD1" if model.on_shards else "use MD2 to MD6, or score without splits",
        )
    for d in model.dimensions:
        if shape[d] == 0:
            raise InputError(f"the scores have no {d}", remedy="read or select some")
        if shape[d] == 1:
            raise InputError(
                f"the scores have one {d} only, so {model.short} has no {d} effect",
                remedy=f"add {pluralize_noun(d)}, or leave {d} out of the model",
            )
    if error_df(shape, model.sets) == 0:
        full = format_term(frozenset(shape))
        extra = (
            " or ".join(pluralize_noun(d) for d in ("shard", "instance") if d not in shape) or "replicates"
        )
        raise InputError(
            f"{model.short} needs replicates: {full} takes up every score and leaves nothing for error",
            remedy=f"add {extra}, or leave {full} out of the model",
        )
