#!/usr/bin/env python3
"""Writes q.npy, k.npy, v.npy: float16 inputs whose scores q.k^T pass 65504 in every row. Needs numpy."""

import os

import numpy as np

rng = np.random.default_rng(0)
here = os.path.dirname(os.path.abspath(__file__))
q, k = (np.clip(rng.normal(0, 32, (128, 64)), -64, 64).astype(np.float16) for _ in range(2))
# One key along each query's direction, so that the largest score of a row is beyond float16.
k = k / 2 + q * 1.5
k = np.clip(k, -64, 64).astype(np.float16)
v = rng.uniform(-8, 8, (128, 64)).astype(np.float16)
scores = q.astype(np.float64) @ k.astype(np.float64).T
print("rows with a score beyond 65504:", int((np.abs(scores).max(axis=1) > 65504).sum()), "of", len(scores))
for name, array in [("q", q), ("k", k), ("v", v)]:
    np.save(os.path.join(here, name + ".npy"), array)
