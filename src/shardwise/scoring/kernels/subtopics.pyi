from shardwise.core.arrays import Floats
from shardwise.scoring.kernels import RankingArrays, SubtopicGrades, TopicRange
from shardwise.scoring.measures.tables import MeasureTables

def score_subtopics(
    rankings: RankingArrays, judgments: SubtopicGrades, tables: MeasureTables, part: TopicRange, out: Floats
) -> int: ...
