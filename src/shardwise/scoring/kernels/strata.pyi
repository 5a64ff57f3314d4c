from shardwise.core.arrays import Floats
from shardwise.scoring.kernels import RankingArrays, StratumGrades, TopicRange
from shardwise.scoring.measures.tables import MeasureTables

def score_strata(
    rankings: RankingArrays, judgments: StratumGrades, tables: MeasureTables, part: TopicRange, out: Floats
) -> int: ...
