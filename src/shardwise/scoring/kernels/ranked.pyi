from shardwise.core.arrays import Floats, Grades
from shardwise.scoring.kernels.arguments import Part, Rankings
from shardwise.scoring.measures.tables import Tables

def score_topics(rankings: Rankings, qrel_grades: Grades, tables: Tables, part: Part, out: Floats) -> int: ...
