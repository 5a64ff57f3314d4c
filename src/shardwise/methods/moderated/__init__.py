"""The moderated test: each pair's variance shrunk towards the pooled variance, and the joint distribution of all pairs.

For "topics like these" and a table of T topics by R systems, pair k with mean difference d_k and variance s²_k:

    v_k = ((T - 1) s²_k + d0 s̄²) / (T - 1 + d0),    t_k = d_k / √(v_k / T),

s̄² the mean of s²_k over all pairs, twice MS(topic:system) of MD1. d0 = 0 is the paired t, d0 = ∞ the error term of
Tukey's HSD. The joint distribution of all t comes from topics drawn with replacement.
"""
