from shardwise.core.arrays import Codes, Floats, Grades, Ints, Stamps, Words

LAST_STAMP: int

def order_groups(
    docs: Codes,
    scores: Floats,
    edges: Ints,
    words: Words,
    stride: int,
    stamps: Stamps,
    serial: int,
    ascending: bool = False,
) -> tuple[int, int]: ...
def group_rows(topic_of_run: Codes, run_rows: Ints, n_rows: int, n_topics: int) -> tuple[Ints, Ints]: ...
def place_rankings(
    run_docs: Codes, edges: Ints, target: Ints, codes: Codes, starts: Ints, counts: Ints, docs: Codes
) -> None: ...
def grade_rankings(
    topics: Ints,
    docs: Codes,
    starts: Ints,
    grades: Grades,
    judged_docs: Codes,
    judged_grades: Grades,
    judged_starts: Ints,
    grade_of: Grades,
    unjudged: int,
) -> None: ...
