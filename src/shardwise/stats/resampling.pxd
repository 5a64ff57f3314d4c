"""Random numbers of compiled code: every replicate from (key, index) alone, whatever the number of workers."""

from libc.math cimport M_PI, cos, log, pow, sqrt
from libc.stdint cimport int64_t, uint64_t


cdef inline uint64_t golden() noexcept nogil:
    """2^64 over the golden ratio, the step of the generator."""
    return 0x9E3779B97F4A7C15u


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """Steele, Lea & Flood's (2014) 64-bit finaliser."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu
    return x ^ (x >> 31)


cdef inline uint64_t start_state(uint64_t key, uint64_t replicate) noexcept nogil:
    """State of a replicate's random numbers, by (key, replicate)."""
    return mix(key ^ mix(replicate + golden()))


cdef inline uint64_t next_word(uint64_t* state) noexcept nogil:
    """Draw 64 random bits."""
    state[0] += golden()
    return mix(state[0])


cdef inline int64_t draw_below(int64_t n, uint64_t* state) noexcept nogil:
    """Draw a whole number from 0 to n - 1."""
    return <int64_t>(((next_word(state) >> 32) * <uint64_t>n) >> 32)


cdef inline double draw_uniform(uint64_t* state) noexcept nogil:
    """Draw a number strictly between 0 and 1, from 52 random bits."""
    return (<double>(next_word(state) >> 12) + 0.5) * (1.0 / 4503599627370496.0)


cdef inline double draw_normal(uint64_t* state) noexcept nogil:
    """Draw a standard normal number (Box & Muller 1958; the second of its two is left out, so that nothing is kept)."""
    cdef double radius = sqrt(-2.0 * log(draw_uniform(state)))
    return radius * cos(2.0 * M_PI * draw_uniform(state))


cdef inline double draw_chi_squared(double df, uint64_t* state) noexcept nogil:
    """Draw a χ² number (Marsaglia & Tsang 2000, "A simple method for generating gamma variables")."""
    cdef double shape = df / 2.0, boost = 1.0, d, c, x, v
    if shape < 1.0:
        boost = pow(draw_uniform(state), 1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x = draw_normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        if log(draw_uniform(state)) < 0.5 * x * x + d - d * v + d * log(v):
            return 2.0 * boost * d * v
