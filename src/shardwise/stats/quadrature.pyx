"""Tails of studentized statistics: quadratures, and reading the tables that `studentize` makes of them."""

from libc.math cimport INFINITY, M_PI, NAN, erfc, exp, expm1, fabs, isinf, isnan, lgamma, log, log1p, sqrt
from libc.stdint cimport int64_t

import numpy as np

cdef enum:
    LAST_COEFFICIENT = 15
    # panels of H(w) below the bend
    N_FINE = 48

# widths of the panels of w: below and above the bend, under which H falls from 1 to almost 0
FINE, COARSE, BEND = 0.25, 1.0, 12.0
DEGREE = LAST_COEFFICIENT
FINE_PANELS = N_FINE
# H(w) is about exp(-w²/4): beyond this it leaves the range of double precision
W_MAX = 52.0
# of the tables by degrees of freedom; tails beyond are below 1e-170
Y_MAX = 40.0
# from here on nu = ∞ to all printable digits
NORMAL_DF = 1e14

cdef double C_FINE = FINE, C_COARSE = COARSE, C_BEND = BEND, C_W_MAX = W_MAX, C_Y_MAX = Y_MAX
cdef double C_NORMAL_DF = NORMAL_DF


cdef struct Distribution:
    # log H(w) in panels of Chebyshev coefficients, and the nodes of a Gauss rule
    const double* coefficients
    int64_t n_panels
    const double* nodes
    const double* weights
    int64_t n_nodes


cdef inline double clenshaw(double x, const double* row) noexcept nogil:
    """Chebyshev polynomial at x, as the logarithm of a probability."""
    cdef double b1 = 0.0, b2 = 0.0, b
    cdef int k
    for k in range(LAST_COEFFICIENT, 0, -1):
        b = row[k] + 2.0 * x * b1 - b2
        b2 = b1
        b1 = b
    return min(row[0] + x * b1 - b2, 0.0)


cdef inline double log_h(double w, const Distribution* distribution) noexcept nogil:
    cdef int64_t panel
    cdef double x
    if w < C_BEND:
        panel = <int64_t>(w / C_FINE)
        x = 2.0 * (w / C_FINE - <double>panel) - 1.0
    elif w >= C_W_MAX + C_COARSE:
        return -INFINITY
    else:
        panel = <int64_t>((w - C_BEND) / C_COARSE)
        x = 2.0 * ((w - C_BEND) / C_COARSE - <double>panel) - 1.0
        panel += N_FINE
        if panel >= distribution.n_panels:
            return -INFINITY
    return clenshaw(x, distribution.coefficients + panel * (LAST_COEFFICIENT + 1))


cdef double log_constant(double nu) noexcept nogil:
    """Constant c of the log density of v = log s: c + nu·(v - (exp(2v) - 1) / 2)."""
    cdef double a = nu / 2.0, series
    if a < 30.0:
        return log(2.0) + a * log(a) - lgamma(a) - a
    # Stirling's series, because the large terms of the line above cancel
    series = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * a * a)) / (a * a)) / (a * a)) / a
    return log(2.0) + 0.5 * log(a / (2.0 * M_PI)) - series


cdef double panel_width(double v, double w, double nu) noexcept nogil:
    """Width in v of a panel over which a 16-point Gauss rule is exact to rounding."""
    cdef double square = exp(2.0 * v)
    cdef double curvature = 2.0 * nu * square
    cdef double slope = fabs(nu * (1.0 - square))
    cdef double width = min(3.0, 3.5 / sqrt(curvature)) if curvature > 0.0 else 3.0
    if slope > 0.0:
        width = min(width, 9.0 / slope)
    return min(width, min(0.4 / max(w, 0.4), 8.0 / max(1.0, w * w)))


cdef double integrate_panel(double left, double width, double q, double nu, const Distribution* distribution) noexcept nogil:
    cdef double total = 0.0, v, log_density
    cdef int64_t k
    for k in range(distribution.n_nodes):
        v = left + 0.5 * width * (1.0 + distribution.nodes[k])
        log_density = nu * (v - 0.5 * expm1(2.0 * v))
        total += distribution.weights[k] * exp(log_density + log_h(q * exp(v), distribution))
    return 0.5 * width * total


cdef double upper_tail(double q, double nu, const Distribution* distribution) noexcept nogil:
    """P(W / s > q), panel by panel outwards from near the peak of the integrand."""
    cdef double start, total = 0.0, v, last, width, left, part
    cdef int direction
    if isnan(q) or isnan(nu):
        return NAN
    if q <= 0.0:
        return 1.0
    if isinf(q):
        return 0.0
    if nu > C_NORMAL_DF:
        return exp(log_h(q, distribution))
    # peak if H(w) were exp(-w²/4)
    start = -0.5 * log1p(q * q / (2.0 * nu))
    for direction in range(1, -2, -2):
        v = start
        last = -1.0
        while True:
            width = panel_width(v, q * exp(v), nu)
            left = v if direction > 0 else v - width
            part = integrate_panel(left, width, q, nu, distribution)
            total += part
            v += direction * width
            # the integrand is unimodal, so only a falling panel may end the walk
            if part <= last and part <= 1e-15 * total:
                break
            if part == 0.0 and (v > 5.0 or v < -800.0):
                break
            last = part
    return min(exp(log_constant(nu)) * total, 1.0)


cdef double log_excess(double x, double p, double nu, const Distribution* distribution) noexcept nogil:
    """Log of tail over target, on the side where the logarithm is well conditioned."""
    cdef double tail = upper_tail(exp(x), nu, distribution)
    if p <= 0.5:
        return log(max(tail, 1e-320) / p)
    return -log(max(1.0 - tail, 1e-320) / (1.0 - p))


cdef double upper_quantile(double p, double nu, const Distribution* distribution) noexcept nogil:
    """The q with P(W / s > q) = p, by the Illinois variant of regula falsi in log q."""
    cdef double low = 1.0, high = 1.0, f_low, f_high, x, before, f
    cdef int side = 0, step
    if not (0.0 <= p <= 1.0) or isnan(nu):
        return NAN
    if p == 0.0:
        return INFINITY
    if p == 1.0:
        return 0.0
    f_low = log_excess(low, p, nu, distribution)
    f_high = f_low
    while f_low < 0.0:
        low -= 1.0
        f_low = log_excess(low, p, nu, distribution)
    while f_high > 0.0 and high < 700.0:
        high += 1.0
        f_high = log_excess(high, p, nu, distribution)
    x = low
    for step in range(200):
        if high - low < 1e-14 * max(1.0, fabs(low)):
            break
        before = x
        x = (low * f_high - high * f_low) / (f_high - f_low)
        f = log_excess(x, p, nu, distribution)
        if f == 0.0 or fabs(x - before) < 1e-15:
            break
        if f > 0.0:
            low, f_low = x, f
            if side == 1:
                f_high *= 0.5
            side = 1
        else:
            high, f_high = x, f
            if side == -1:
                f_low *= 0.5
            side = -1
    return exp(x)


cdef Distribution distribution_of(const double[:, ::1] coefficients, const double[::1] nodes, const double[::1] weights) noexcept nogil:
    cdef Distribution distribution
    distribution.coefficients, distribution.n_panels = &coefficients[0, 0], coefficients.shape[0]
    distribution.nodes, distribution.weights, distribution.n_nodes = &nodes[0], &weights[0], nodes.shape[0]
    return distribution


def sf_many(
    const double[::1] q not None,
    const double[::1] df not None,
    const double[:, ::1] coefficients not None,
    const double[::1] nodes not None,
    const double[::1] weights not None,
    double[::1] out not None,
):
    """Put P(W / s > q) into ``out``, for each q and its degrees of freedom."""
    cdef Distribution distribution = distribution_of(coefficients, nodes, weights)
    cdef int64_t i
    with nogil:
        for i in range(q.shape[0]):
            out[i] = upper_tail(q[i], df[i], &distribution)


def isf_many(
    const double[::1] p not None,
    const double[::1] df not None,
    const double[:, ::1] coefficients not None,
    const double[::1] nodes not None,
    const double[::1] weights not None,
    double[::1] out not None,
):
    """Put the q with P(W / s > q) = p into ``out``, for each p and its degrees of freedom."""
    cdef Distribution distribution = distribution_of(coefficients, nodes, weights)
    cdef int64_t i
    with nogil:
        for i in range(p.shape[0]):
            out[i] = upper_quantile(p[i], df[i], &distribution)


def read_table(const double[::1] y not None, const double[:, ::1] coefficients not None, double[::1] out not None):
    """Read a table of log sf at each y below Y_MAX; NaN beyond."""
    cdef int64_t i, panel
    with nogil:
        for i in range(y.shape[0]):
            if y[i] < C_Y_MAX:
                panel = <int64_t>(y[i] / C_FINE)
                out[i] = exp(clenshaw(2.0 * (y[i] / C_FINE - <double>panel) - 1.0, &coefficients[panel, 0]))
            else:
                out[i] = NAN


def read_rows(
    const double[:, ::1] y not None,
    const double[:, ::1] weights not None,
    const double[:, :, ::1] coefficients not None,
    double[:, ::1] out not None,
):
    """Evaluate the weighted distributions of each row, whose polynomials are mixed panel by panel as they are met."""
    cdef int64_t panels = coefficients.shape[1]
    cdef double[:, ::1] mixed = np.empty((panels, LAST_COEFFICIENT + 1))
    cdef int64_t[::1] met = np.full(panels, -1, dtype=np.int64)
    cdef int64_t i, j, d, k, panel
    cdef double total
    with nogil:
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                if not y[i, j] < C_Y_MAX:
                    continue
                panel = <int64_t>(y[i, j] / C_FINE)
                if met[panel] != i:
                    met[panel] = i
                    for d in range(LAST_COEFFICIENT + 1):
                        total = 0.0
                        for k in range(weights.shape[1]):
                            total += weights[i, k] * coefficients[k, panel, d]
                        mixed[panel, d] = total
                out[i, j] = exp(clenshaw(2.0 * (y[i, j] / C_FINE - <double>panel) - 1.0, &mixed[panel, 0]))


def range_sf(const double[::1] w not None, int64_t r, double[::1] out not None):
    """H(w) = r ∫ φ(z) Φ(z)^(r-1) {1 - [1 - Φ(z-w)/Φ(z)]^(r-1)} dz, z being the largest of the r values.

    The integrand is positive and analytic and falls off as a Gaussian on both sides, so the trapezoidal rule converges
    geometrically; the curly bracket is taken by expm1 and log1p, so that nothing cancels.
    """
    cdef double step = 0.24 / sqrt(1.0 + log(<double>r)), lowest = -10.0
    cdef int64_t count = <int64_t>((C_W_MAX / 2.0 + 10.0 - lowest) / step) + 1
    cdef double[::1] phi = np.empty(count), weight = np.empty(count)
    cdef int64_t k, i, first
    cdef double z, below, log_below, total, last, share, some, part
    with nogil:
        for k in range(count):
            z = lowest + <double>k * step
            below = 0.5 * erfc(-z / sqrt(2.0))
            phi[k] = below
            log_below = log1p(-0.5 * erfc(z / sqrt(2.0))) if z > 0.0 else log(below)
            weight[k] = <double>r * step * exp(-0.5 * z * z + <double>(r - 1) * log_below) / sqrt(2.0 * M_PI)
        for i in range(w.shape[0]):
            first = max(0, <int64_t>((0.5 * w[i] - 8.0 - lowest) / step))
            total, last = 0.0, 0.0
            for k in range(first, count):
                share = 0.5 * erfc((w[i] - lowest - <double>k * step) / sqrt(2.0)) / phi[k]
                some = 1.0 if share >= 1.0 else -expm1(<double>(r - 1) * log1p(-share))
                part = weight[k] * some
                total += part
                if part < last and part < 1e-18 * total:
                    break
                last = part
            out[i] = min(total, 1.0)


def distance_sf(const double[::1] w not None, int64_t m, double[::1] out not None):
    """H(w) = 2 ∫₀^∞ φ(z) {1 - [1 - Φ(z - w) - Φ(-z - w)]^m} dz, z being the baseline's value."""
    cdef double step = 0.08, total, z, far, some
    cdef int64_t i, k
    with nogil:
        for i in range(w.shape[0]):
            total = 0.0
            for k in range(<int64_t>((0.5 * w[i] + 9.0) / step)):
                z = <double>k * step
                far = 0.5 * erfc((w[i] - z) / sqrt(2.0)) + 0.5 * erfc((w[i] + z) / sqrt(2.0))
                some = 1.0 if far >= 1.0 else -expm1(<double>m * log1p(-far))
                total += (0.5 if k == 0 else 1.0) * exp(-0.5 * z * z) * some
            out[i] = min(2.0 * step * total / sqrt(2.0 * M_PI), 1.0)
