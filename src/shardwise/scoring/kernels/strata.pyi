from shardwise.core.arrays import Floats
from shardwise.scoring.kernels.arguments import Part, Rankings, StratumGrades
from shardwise.scoring.measures.tables import Tables

def score_strata(
    rankings: Rankings, judgments: StratumGrades, tables: Tables, part: Part, out: Floats
) -> int: ...
