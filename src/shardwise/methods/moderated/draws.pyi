import numpy as np

from shardwise.core.arrays import Codes, Floats, Ints, Singles, Words
from shardwise.methods.moderated.method import Centred, Limit, TableByPairs, Targets
from shardwise.methods.moderated.statistics import Noise

BLOCK_SIZE: int

def draw_noise(noise: Noise, state: Words, effect: Floats, variance: Floats) -> None: ...
def largest_gaps(scenario: Centred, ia: Ints, ib: Ints) -> tuple[Codes, Singles]: ...
def count_draws(
    scenario: Centred,
    largest: tuple[Codes, Singles],
    targets: Targets,
    key: np.uint64,
    first_block: int,
    stop_block: int,
    falling: Ints,
    maxima: Floats,
) -> None: ...
def count_incomplete(
    table: TableByPairs,
    targets: Targets,
    key: np.uint64,
    first_block: int,
    stop_block: int,
    falling: Ints,
    maxima: Floats,
) -> None: ...
def count_normal(
    scenario: Limit,
    targets: Targets,
    key: np.uint64,
    first_block: int,
    stop_block: int,
    falling: Ints,
    maxima: Floats,
) -> None: ...
