"""The experiments of five papers on other data: verdicts on their claims, every table and figure beside print."""

from __future__ import annotations

from shardwise.papers.claims import Figures as Figures
from shardwise.papers.claims import PaperClaim as PaperClaim
from shardwise.papers.exhibit import Exhibit as Exhibit
from shardwise.papers.exhibit import Form as Form
from shardwise.papers.exhibit import Replication as Replication
from shardwise.papers.exhibit import Shape as Shape
from shardwise.papers.experiment import PaperData as PaperData
from shardwise.papers.experiment import PaperExperiment as PaperExperiment
from shardwise.papers.f19_shards import F19 as F19
from shardwise.papers.f19_shards import f19 as f19
from shardwise.papers.ff21_bootstrap import FF21 as FF21
from shardwise.papers.ff21_bootstrap import ff21 as ff21
from shardwise.papers.future_work import OpenQuestions as OpenQuestions
from shardwise.papers.future_work import open_questions as open_questions
from shardwise.papers.j15_instances import J15 as J15
from shardwise.papers.j15_instances import j15 as j15
from shardwise.papers.paper_study import Study as Study
from shardwise.papers.paper_study import study as study
from shardwise.papers.s14_topic_sets import S14 as S14
from shardwise.papers.s14_topic_sets import s14 as s14
from shardwise.papers.v17_replicates import V17 as V17
from shardwise.papers.v17_replicates import v17 as v17

EXPERIMENTS: dict[str, type[PaperExperiment]] = {
    "f19": F19,
    "ff21": FF21,
    "v17": V17,
    "s14": S14,
    "j15": J15,
    "open-questions": OpenQuestions,
    "study": Study,
}
"""Every experiment by its tag."""

__all__ = [
    "EXPERIMENTS",
    "F19",
    "FF21",
    "J15",
    "S14",
    "V17",
    "Exhibit",
    "Figures",
    "Form",
    "OpenQuestions",
    "PaperClaim",
    "PaperData",
    "PaperExperiment",
    "Replication",
    "Shape",
    "Study",
    "f19",
    "ff21",
    "j15",
    "open_questions",
    "s14",
    "study",
    "v17",
]
