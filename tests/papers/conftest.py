"""Real runs for the papers' experiments: those of eight teams in TREC-COVID's first round."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import shardwise as sw
from shardwise.papers import EXPERIMENTS


@pytest.fixture(scope="package")
def teams(data: Path) -> dict[str, list[str]]:
    """The runs of the first eight teams, by name, that sent in three."""
    runs = pd.read_csv(data / "trec-covid-r1" / "round1.csv").groupby("team")["run"].apply(list)
    return dict(sorted((str(team), own) for team, own in runs.items() if len(own) == 3)[:8])


@pytest.fixture(scope="package")
def runs(data: Path, covid_runs: Path, teams: dict[str, list[str]]) -> sw.Collection:
    """The 24 runs of these teams."""
    qrels = data / "trec-covid-r1" / "qrels.covid-round1.txt"
    files = [covid_runs / name for own in teams.values() for name in own]
    return sw.read_collection(files, qrels, missing="zero", topics="judged", names="file")


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tries a command, and no verdict: claims are decided by 4 splits and 5 resamples where none are named."""
    for experiment in EXPERIMENTS.values():
        monkeypatch.setitem(experiment.__init__.__kwdefaults__, "claim_resamples", 5)
        monkeypatch.setitem(experiment.__init__.__kwdefaults__, "claim_splits", 4)
