from shardwise.core.arrays import Floats

FINE: float
COARSE: float
BEND: float
DEGREE: int
FINE_PANELS: int
W_MAX: float
Y_MAX: float
NORMAL_DF: float

def sf_many(
    q: Floats, df: Floats, coefficients: Floats, nodes: Floats, weights: Floats, out: Floats
) -> None: ...
def isf_many(
    p: Floats, df: Floats, coefficients: Floats, nodes: Floats, weights: Floats, out: Floats
) -> None: ...
def read_table(y: Floats, coefficients: Floats, out: Floats) -> None: ...
def read_rows(y: Floats, weights: Floats, coefficients: Floats, out: Floats) -> None: ...
def range_sf(w: Floats, r: int, out: Floats) -> None: ...
def distance_sf(w: Floats, m: int, out: Floats) -> None: ...
