#!/usr/bin/env python3
"""Makes testdata/stablehlo: StableHLO texts as JAX prints them, with inputs and JAX's outputs.

Needs jax (CPU); made with jax 0.10.2. For each sample there is NAME.mlir, and NAME.npz with in_0 ..., out_0 ... in order; bf16 is
kept as two raw bytes an element. With a folder as argument it writes there, and every sample instead of those that are kept.
"""

import pathlib
import sys
import zlib

import jax
import jax.numpy as jnp
import jax.scipy.special as special
import ml_dtypes
import numpy as np
from jax import lax, nn

HERE = pathlib.Path(__file__).resolve().parent / "stablehlo"
F16, BF16 = jnp.float16, jnp.bfloat16
SAMPLES = {}


def f(*shape, t=jnp.float32):
    return jax.ShapeDtypeStruct(shape, t)


def i(*shape, t=jnp.int32):
    return jax.ShapeDtypeStruct(shape, t)


def sample(name, function, *arguments, kept=True):
    SAMPLES[name] = (function, arguments, kept)


def more(name, function, *arguments):
    sample(name, function, *arguments, kept=False)


sample("softmax", lambda x: nn.softmax(x, -1), f(4, 8))
sample("log_softmax", lambda x: nn.log_softmax(x, -1), f(4, 8))
more("softmax_where", lambda x, m: nn.softmax(x, -1, where=m), f(4, 8), i(4, 8, t=bool))
sample("logsumexp", lambda x: special.logsumexp(x, axis=1), f(4, 8))
more("logsumexp_naive", lambda x: jnp.log(jnp.sum(jnp.exp(x), 1)), f(4, 8))
more("softmax_naive", lambda x: jnp.exp(x) / jnp.sum(jnp.exp(x), 1, keepdims=True), f(4, 8))
sample("gelu", lambda x: nn.gelu(x), f(4, 8))
sample("gelu_exact", lambda x: nn.gelu(x, approximate=False), f(4, 8))
sample("silu", nn.silu, f(4, 8))
sample("softplus", nn.softplus, f(4, 8))
more("elu", nn.elu, f(4, 8))
more("selu", nn.selu, f(4, 8))
more("relu", nn.relu, f(4, 8))
more("relu6", nn.relu6, f(4, 8))
more("leaky_relu", nn.leaky_relu, f(4, 8))
more("celu", nn.celu, f(4, 8))
more("glu", nn.glu, f(4, 8))
more("mish", nn.mish, f(4, 8))
more("hard_sigmoid", nn.hard_sigmoid, f(4, 8))
more("hard_swish", nn.hard_swish, f(4, 8))
more("log_sigmoid", nn.log_sigmoid, f(4, 8))
more("sigmoid", nn.sigmoid, f(4, 8))
more("hard_tanh", nn.hard_tanh, f(4, 8))
more("soft_sign", nn.soft_sign, f(4, 8))


def ln(x, g, b):
    m = x.mean(-1, keepdims=True)
    v = x.var(-1, keepdims=True)
    return (x - m) / jnp.sqrt(v + 1e-5) * g + b


sample("layer_norm", ln, f(4, 8), f(8), f(8))


def ln2(x, g, b):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) * lax.rsqrt(v + 1e-5) * g + b


sample("layer_norm_rsqrt", ln2, f(4, 8), f(8), f(8))


def ln3(x, g, b):
    m = x.mean(-1, keepdims=True)
    v = (x * x).mean(-1, keepdims=True) - m * m
    return (x - m) * lax.rsqrt(v + 1e-5) * g + b


sample("layer_norm_onepass", ln3, f(4, 8), f(8), f(8))
sample("rms_norm", lambda x, g: x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g, f(4, 8), f(8))
sample(
    "rms_norm_bf16",
    lambda x, g: (lambda y: (y * lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-6)).astype(jnp.bfloat16) * g)(
        x.astype(jnp.float32)
    ),
    f(4, 8, t=jnp.bfloat16),
    f(8, t=jnp.bfloat16),
)
more("standardize", lambda x: nn.standardize(x, axis=-1), f(4, 8))
sample("var", lambda x: jnp.var(x, axis=1), f(4, 8))
more("std", lambda x: jnp.std(x, axis=1, ddof=1), f(4, 8))
sample("mean", lambda x: jnp.mean(x, axis=(0, 1)), f(4, 8))
sample("norm2", lambda x: jnp.linalg.norm(x, axis=1), f(4, 8))


def att(q, k, v):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1]).astype(np.float32)
    return jnp.einsum("bhqk,bhkd->bhqd", nn.softmax(s, -1), v)


sample("attention", att, f(2, 4, 8, 16), f(2, 4, 8, 16), f(2, 4, 8, 16))


def attc(q, k, v):
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) * 0.25
    m = jnp.tril(jnp.ones((8, 8), bool))
    s = jnp.where(m, s, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(s, -1), v)


sample("attention_causal", attc, f(2, 8, 4, 16), f(2, 8, 4, 16), f(2, 8, 4, 16))
sample("dpa", lambda q, k, v: nn.dot_product_attention(q, k, v), f(2, 8, 4, 16), f(2, 8, 4, 16), f(2, 8, 4, 16))
more(
    "dpa_causal",
    lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True),
    f(2, 8, 4, 16),
    f(2, 8, 4, 16),
    f(2, 8, 4, 16),
)
sample("attention_f16", att, f(2, 4, 8, 16, t=F16), f(2, 4, 8, 16, t=F16), f(2, 4, 8, 16, t=F16))
more("attention_bf16", att, f(2, 4, 8, 16, t=BF16), f(2, 4, 8, 16, t=BF16), f(2, 4, 8, 16, t=BF16))
sample(
    "matmul_f16_acc32", lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32), f(4, 8, t=F16), f(8, 3, t=F16)
)
more("matmul_prec", lambda x, y: lax.dot(x, y, precision=lax.Precision.HIGHEST), f(4, 8), f(8, 3))
sample("matvec", lambda x, y: x @ y, f(4, 8), f(8))
more("vecvec", lambda x, y: x @ y, f(8), f(8))
more("outer", lambda x, y: jnp.outer(x, y), f(3), f(4))
sample("tensordot", lambda x, y: jnp.tensordot(x, y, axes=((1, 2), (0, 2))), f(2, 3, 4), f(3, 5, 4))
sample("einsum", lambda x, y: jnp.einsum("abc,dcb->ad", x, y), f(2, 3, 4), f(5, 4, 3))
sample("conv_nchw", lambda x, w: lax.conv(x, w, (1, 1), "SAME"), f(1, 3, 8, 8), f(4, 3, 3, 3))
sample(
    "conv_nhwc",
    lambda x, w: lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
    f(1, 8, 8, 3),
    f(3, 3, 3, 4),
)
sample(
    "conv_dw",
    lambda x, w: lax.conv_general_dilated(x, w, (1, 1), [(1, 1), (1, 1)], feature_group_count=3, rhs_dilation=(1, 1)),
    f(1, 3, 8, 8),
    f(6, 1, 3, 3),
)
sample(
    "conv_dil",
    lambda x, w: lax.conv_general_dilated(x, w, (1, 1), [(2, 2), (2, 2)], rhs_dilation=(2, 2)),
    f(1, 3, 8, 8),
    f(4, 3, 3, 3),
)
more("conv_1d", lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID"), f(1, 3, 8), f(4, 3, 3))
sample("conv_tr", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), f(1, 4, 4, 3), f(3, 3, 3, 4))
more("convolve", lambda x, w: jnp.convolve(x, w), f(8), f(3))
more(
    "max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), f(1, 3, 8, 8)
)
sample(
    "max_pool_same",
    lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
    f(1, 8, 8, 3),
)
more("avg_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") / 4, f(1, 3, 8, 8))
sample(
    "avg_pool_same",
    lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
    / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME"),
    f(1, 8, 8, 3),
)
sample("cumsum", lambda x: jnp.cumsum(x, 1), f(4, 8))
sample("cumprod", lambda x: jnp.cumprod(x, 0), f(4, 8))
sample("cummax", lambda x: lax.cummax(x, 1), f(4, 8))
more("cumlogsumexp", lambda x: lax.cumlogsumexp(x, 1), f(4, 8))
sample("cumsum_rev", lambda x: lax.cumsum(x, 1, reverse=True), f(4, 8))
sample("argmax", lambda x: jnp.argmax(x, 1), f(4, 8))
sample("argmin", lambda x: jnp.argmin(x, 0), f(4, 8))
sample("one_hot", lambda x: nn.one_hot(x, 5), i(4))
sample("take", lambda x, j: jnp.take(x, j, axis=0), f(10, 4), i(3))
sample("embed", lambda x, j: x[j], f(10, 4), i(2, 3))
sample("take1", lambda x, j: jnp.take(x, j, axis=1), f(4, 10), i(3))
more("take_clip", lambda x, j: jnp.take(x, j, axis=0, mode="clip"), f(10, 4), i(3))
more("take_fill", lambda x, j: jnp.take(x, j, axis=0, mode="fill"), f(10, 4), i(3))
sample("take_along", lambda x, j: jnp.take_along_axis(x, j, 1), f(4, 8), i(4, 2))
sample("index2", lambda x, a, b: x[a, b], f(4, 8), i(3), i(3))
more("index_row", lambda x: x[1], f(4, 8))
sample("slice", lambda x: x[1:3, ::2], f(4, 8))
sample("flip", lambda x: x[:, ::-1], f(4, 8))
sample("dynslice", lambda x, k: lax.dynamic_slice(x, (k, 0), (2, 8)), f(4, 8), i())
more("dynslice_const", lambda x: lax.dynamic_slice(x, (1, 2), (2, 3)), f(4, 8))
sample("dus", lambda x, u: lax.dynamic_update_slice(x, u, (1, 2)), f(4, 8), f(2, 2))
sample("scatter_add", lambda x, j, u: x.at[j].add(u), f(10, 4), i(3), f(3, 4))
sample("scatter_set", lambda x, j, u: x.at[j].set(u), f(10, 4), i(3), f(3, 4))
sample("scatter_const", lambda x: x.at[1, 2].set(0.0), f(4, 8))
sample("segment_sum", lambda x, j: jax.ops.segment_sum(x, j, 5), f(10, 4), i(10))
more("scatter_row", lambda x, u: x.at[1].add(u), f(4, 8), f(8))
sample("fori", lambda x: lax.fori_loop(0, 4, lambda k, v: jnp.sin(v) + v, x), f(4))
more("fori_i", lambda x: lax.fori_loop(0, 4, lambda k, v: v * 0.5 + k, x), f(4))
sample("scan", lambda x: lax.scan(lambda c, y: (c * 0.9 + y, c), jnp.zeros(3), x), f(5, 3))
sample("scan_rev", lambda x: lax.scan(lambda c, y: (c * 0.9 + y, c), jnp.zeros(3), x, reverse=True), f(5, 3))
more("while", lambda x: lax.while_loop(lambda v: v[0] < 1, lambda v: v * 2, x), f(3))
sample("map", lambda x: lax.map(jnp.sin, x), f(4, 3))
sample("cond", lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), i(t=bool), f(4))
sample("cond_i", lambda p, x: lax.cond(p > 0, jnp.sin, jnp.cos, x), i(), f(4))
sample("switch", lambda k, x: lax.switch(k, [jnp.sin, jnp.cos, jnp.tan], x), i(), f(4))
for (
    n
) in "erf erfc erf_inv lgamma digamma acos acosh asin asinh atan atanh cosh sinh tan bessel_i1e sin cos tanh exp exp2 expm1 log log1p sqrt rsqrt cbrt logistic ceil floor round sign neg abs is_finite square reciprocal".split():
    more("el_" + n, getattr(lax, n), f(4))
more("el_gamma", special.gammaln, f(4))
more("el_round_even", lambda x: jnp.round(x), f(4))
more("el_log2", jnp.log2, f(4))
more("el_log10", jnp.log10, f(4))
more("el_trunc", jnp.trunc, f(4))
more("el_isnan", jnp.isnan, f(4))
more("el_isinf", jnp.isinf, f(4))
more("el_isposinf", jnp.isposinf, f(4))
more("el_sinc", jnp.sinc, f(4))
for n in "add sub mul div rem pow atan2 max min nextafter zeta igamma".split():
    more("b_" + n, getattr(lax, n), f(4), f(4))
more("b_fmod", jnp.fmod, f(4), f(4))
sample("b_mod", jnp.mod, f(4), f(4))
more("b_floordiv", jnp.floor_divide, f(4), f(4))
sample("b_logaddexp", jnp.logaddexp, f(4), f(4))
more("b_xlogy", special.xlogy, f(4), f(4))
more("b_hypot", jnp.hypot, f(4), f(4))
more("b_ipow", lambda x: x**3, f(4))
more("b_ipow7", lambda x: lax.integer_pow(x, 7), f(4))
more("b_pows", lambda x: x**2.5, f(4))
more("b_mod_i", jnp.mod, i(4), i(4))
more("b_fdiv_i", jnp.floor_divide, i(4), i(4))
sample("clip", lambda x: jnp.clip(x, -1, 1), f(4))
sample("clamp", lambda x: lax.clamp(-1.0, x, 1.0), f(4))
sample("where", lambda c, x, y: jnp.where(c, x, y), i(4, t=bool), f(4), f(4))
sample("cmp", lambda x, y: (x < y) & (x != y) | ~(x >= 0), f(4), f(4))
more("iota", lambda: jnp.arange(5.0))
sample("linspace", lambda: jnp.linspace(0, 1, 5))
more("eye", lambda: jnp.eye(3))
sample("tri", lambda x: jnp.triu(x, 1), f(4, 4))
more("xor", lambda x, y: x ^ y, i(4), i(4))
more("shift", lambda x: x << 2, i(4))
more("bitcast", lambda x: lax.bitcast_convert_type(x, jnp.int32), f(4))
sample("sort", lambda x: jnp.sort(x, 1), f(4, 8))
sample("argsort", lambda x: jnp.argsort(x, 1), f(4, 8))
sample("topk", lambda x: lax.top_k(x, 3), f(4, 8))
sample("sort_desc", lambda x: jnp.sort(x, descending=True), f(8))
more("median", lambda x: jnp.median(x), f(8))
sample("concat", lambda x, y: jnp.concatenate([x, y], 1), f(4, 8), f(4, 2))
more("stack", lambda x, y: jnp.stack([x, y]), f(4), f(4))
sample("pad", lambda x: jnp.pad(x, ((1, 2), (0, 1))), f(4, 8))
sample("pad_neg", lambda x: lax.pad(x, 0.0, ((-1, 2, 0), (0, 1, 1))), f(4, 8))
sample("pad_edge", lambda x: jnp.pad(x, ((1, 2), (0, 1)), mode="edge"), f(4, 8))
more("tile", lambda x: jnp.tile(x, (2, 1)), f(4, 8))
sample("roll", lambda x: jnp.roll(x, 1, 0), f(4, 8))
more("repeat", lambda x: jnp.repeat(x, 2, 0), f(4, 8))
more("bcast", lambda x: jnp.broadcast_to(x[:, None], (4, 3)), f(4))
more("transpose", lambda x: x.T, f(4, 8))
more("split", lambda x: jnp.split(x, 2, 1), f(4, 8))
more("reshape", lambda x: x.reshape(2, 16), f(4, 8))
more("sq", lambda x: x[None, :, None].squeeze(0), f(4))
sample("red", lambda x: (x.sum(), x.max(0), x.min(1), x.prod(0)), f(4, 8))
sample("allany", lambda x: ((x > 0).all(0), (x > 0).any(1)), f(4, 8))
more("countnz", lambda x: jnp.count_nonzero(x, 0), f(4, 8))
sample("sum_bf16", lambda x: x.sum(1), f(4, 8, t=BF16))
more("sum_f16", lambda x: x.sum(1), f(4, 8, t=F16))
more("mean_bf16", lambda x: x.mean(1), f(4, 8, t=BF16))
sample("sum_i", lambda x: x.sum(1), i(4, 8))
more("max_i", lambda x: x.max(1), i(4, 8))
sample("softmax_f16", lambda x: nn.softmax(x, -1), f(4, 8, t=F16))
more("softmax_bf16", lambda x: nn.softmax(x, -1), f(4, 8, t=BF16))
sample("conv_types", lambda x: (x.astype(jnp.int32), x.astype(jnp.float16), x.astype(bool), x.astype(jnp.int8)), f(4))
more("from_int", lambda x: x.astype(jnp.float32), i(4))
more("from_bool", lambda x: x.astype(jnp.float32), i(4, t=bool))
more("uint", lambda x: x + 1, i(4, t=jnp.uint32))
sample("reduce_prec", lambda x: lax.reduce_precision(x, 5, 10), f(4))
more("random", lambda: jax.random.normal(jax.random.PRNGKey(0), (3,)))
more("complex", lambda x: jnp.fft.fft(x), f(4))
more("chol", lambda x: jnp.linalg.cholesky(x), f(3, 3))
more("trisolve", lambda x, y: jax.scipy.linalg.solve_triangular(x, y, lower=True), f(3, 3), f(3))
more("inv", lambda x: jnp.linalg.inv(x), f(3, 3))


def ce(x, t):
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(x), t[:, None], 1))


sample("ce", ce, f(4, 16), i(4))
sample("ce_grad", jax.grad(ce), f(4, 16), i(4))
sample("softmax_grad", jax.grad(lambda x: nn.softmax(x, -1)[0, 0]), f(4, 8))
more("gelu_grad", jax.grad(lambda x: nn.gelu(x).sum()), f(4))
more("ln_grad", jax.grad(lambda x, g, b: ln(x, g, b).sum()), f(4, 8), f(8), f(8))
more(
    "maxpool_grad",
    jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID").sum()),
    f(4, 4),
)
more("bce", lambda x, t: jnp.mean(jnp.maximum(x, 0) - x * t + jnp.log1p(jnp.exp(-jnp.abs(x)))), f(4), f(4))
more(
    "sigmoid_ce_naive",
    lambda x, t: -jnp.mean(t * jnp.log(nn.sigmoid(x)) + (1 - t) * jnp.log(1 - nn.sigmoid(x))),
    f(4),
    f(4),
)
more("entropy", lambda p: -(p * jnp.log(p)).sum(-1), f(4, 8))
more("kl", special.kl_div, f(4), f(4))
more("rel_entr", special.rel_entr, f(4), f(4))


def gn(x, g, b):
    y = x.reshape(2, 2, 2, 4, 4)
    m = y.mean((2, 3, 4), keepdims=True)
    v = y.var((2, 3, 4), keepdims=True)
    y = ((y - m) / jnp.sqrt(v + 1e-5)).reshape(x.shape)
    return y * g[:, None, None] + b[:, None, None]


sample("group_norm", gn, f(2, 4, 4, 4), f(4), f(4))
sample(
    "batch_norm",
    lambda x, g, b, m, v: (x - m[:, None, None]) * lax.rsqrt(v[:, None, None] + 1e-5) * g[:, None, None]
    + b[:, None, None],
    f(2, 4, 4, 4),
    f(4),
    f(4),
    f(4),
    f(4),
)
sample("mlp", lambda x, w, b, v, c: nn.relu(x @ w + b) @ v + c, f(4, 8), f(8, 16), f(16), f(16, 3), f(3))
sample(
    "lstm_cell",
    lambda x, h, c, w, u: (
        lambda z: (
            lambda ii, ff, gg, oo: nn.sigmoid(oo) * jnp.tanh(nn.sigmoid(ff) * c + nn.sigmoid(ii) * jnp.tanh(gg))
        )(*jnp.split(z, 4, -1))
    )(x @ w + h @ u),
    f(2, 3),
    f(2, 4),
    f(2, 4),
    f(3, 16),
    f(4, 16),
)
sample("const_w", lambda x: x @ jnp.asarray(np.arange(32, dtype=np.float32).reshape(8, 4) * 0.1), f(4, 8))
more("relu_vmap", jax.vmap(lambda x: jnp.dot(x, x)), f(4, 8))
more("remat", lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x), f(4))
more("stopgrad", lambda x: lax.stop_gradient(x) * 2, f(4))
more("custom_jvp", lambda x: nn.relu(x) + nn.silu(x), f(4))
more("optbar", lambda x: lax.optimization_barrier(x), f(4))
more("nansum", lambda x: jnp.nansum(x), f(4))
more("nan_to_num", jnp.nan_to_num, f(4))
more("i64pow", lambda x: jnp.power(x, x), i(4))
more("trace", jnp.trace, f(4, 4))
sample("diag", jnp.diag, f(4, 4))
more("cross", jnp.cross, f(4, 3), f(4, 3))
sample("interp", lambda x: jnp.interp(x, jnp.arange(4.0), jnp.arange(4.0) ** 2), f(4))
sample("polyval", lambda x: jnp.polyval(jnp.array([1.0, 2.0, 3.0]), x), f(4))
more("searchsorted", lambda x: jnp.searchsorted(jnp.arange(4.0), x), f(4))
# Comparisons in the order that has NaN at its end, and positions of truth values.
sample("interp_sorted", lambda x, y, z: jnp.interp(x, jnp.sort(y), z), f(4), f(5), f(5))
sample("search_nan", lambda x, y: jnp.searchsorted(jnp.sort(jnp.log(x)), y, side="right"), f(6), f(5))
pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 1, 1), ((0, 0), (1, 1), (0, 1), (0, 0)))
sample("max_pool_grad", lambda x, w: jax.vjp(pool, x)[1](w)[0], f(1, 6, 5, 2), f(1, 3, 5, 2))
sample("choose_first", lambda x, y: jnp.select([x > 0.5, y > 0.0], [x, -y], 0.25), f(3, 4), f(3, 4))
# Reductions by regions that are no op of ngc.
sample("cumlogsumexp", lambda x: lax.cumlogsumexp(x, axis=1), f(3, 5))
sample("region_norm", lambda x: lax.reduce_window(x, 0.0, lambda a, b: jnp.sqrt(a * a + b * b), (2, 3), (2, 1), "SAME"), f(4, 5))
sample("region_lse", lambda x: lax.reduce(x, -jnp.inf, jnp.logaddexp, (0, 2)), f(2, 3, 4))


def larger(a, b):
    return tuple(jnp.where(a[0] >= b[0], x, y) for x, y in zip(a, b))


sample("region_pairs", lambda x, y: lax.reduce((x, y), (-jnp.inf, 0.0), larger, (1,)), f(4, 5), f(4, 5))


def value(random, spec, name):
    dtype = np.dtype(spec.dtype)
    if dtype == np.bool_:
        return random.random(spec.shape) < 0.7
    if dtype.kind in "iu":
        return random.integers(1, 4, spec.shape).astype(dtype)
    x = random.normal(size=spec.shape)
    positive = ("logistic", "log1p", "sqrt", "entropy", "kl", "rel_entr", "xlogy", "gamma", "acosh", "pow", "el_log")
    if any(word in name for word in positive):
        x = np.abs(x) + 1.0
    elif any(word in name for word in ("asin", "acos", "atanh", "erf_inv")):
        x = np.tanh(x)
    return x.astype(dtype)


def raw(x):
    return x.view(np.uint16).view("<V2") if x.dtype == ml_dtypes.bfloat16 else x


def make(name, function, specs, folder):
    random = np.random.default_rng(zlib.crc32(name.encode()))
    inputs = [value(random, spec, name) for spec in specs]
    compiled = jax.jit(function, keep_unused=True)
    outputs = [np.asarray(y) for y in jax.tree.leaves(compiled(*inputs))]
    lowered = compiled.lower(*specs)
    (folder / f"{name}.mlir").write_text(lowered.as_text())
    arrays = {f"in_{n}": raw(x) for n, x in enumerate(inputs)} | {f"out_{n}": raw(x) for n, x in enumerate(outputs)}
    np.savez(folder / f"{name}.npz", **arrays)
    return lowered, arrays


def main():
    everything = len(sys.argv) > 1
    folder = pathlib.Path(sys.argv[1]) if everything else HERE
    folder.mkdir(parents=True, exist_ok=True)
    for name, (function, specs, kept) in SAMPLES.items():
        if kept or everything:
            make(name, function, specs, folder)
    # The other forms that the text comes in.
    for name in ["attention", "argmax", "fori", "cond"]:
        function, specs, _ = SAMPLES[name]
        lowered, arrays = make(name, function, specs, folder)
        module = lowered.compiler_ir("stablehlo").operation
        (folder / f"generic_{name}.mlir").write_text(module.get_asm(print_generic_op_form=True))
        located = lowered.as_text(debug_info=True).replace(f"{pathlib.Path(__file__).resolve().parent}/", "")
        (folder / f"located_{name}.mlir").write_text(located)
        for form in ["generic", "located"]:
            np.savez(folder / f"{form}_{name}.npz", **arrays)


main()
