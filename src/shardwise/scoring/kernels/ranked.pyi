from shardwise.core.arrays import Floats, Grades
from shardwise.scoring.kernels import RankingArrays, TopicRange
from shardwise.scoring.measures.tables import MeasureTables

def score_topics(
    rankings: RankingArrays, qrel_grades: Grades, tables: MeasureTables, part: TopicRange, out: Floats
) -> int: ...
