from shardwise.core.arrays import Floats
from shardwise.scoring.kernels.arguments import Part, Rankings, SubtopicGrades
from shardwise.scoring.measures.tables import Tables

def score_subtopics(
    rankings: Rankings, judgments: SubtopicGrades, tables: Tables, part: Part, out: Floats
) -> int: ...
