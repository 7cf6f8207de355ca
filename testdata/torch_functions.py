"""Families of single functions of f32 that make_pt2.py writes as programs: each of several functions of some tensors."""

import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILIES = []


def family(make):
    FAMILIES.append(make)
    return make


def floats(*shape, seed=2):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Several(nn.Module):
    """The results of functions of the arguments."""

    def __init__(self, *functions):
        super().__init__()
        self.functions = functions

    def forward(self, *args):
        return tuple(f(*args) for f in self.functions)


@family
def resampling():
    """Resampling by sizes and by factors, and repeated and turned elements; weights that are exact in f32."""
    functions = (
        lambda x: torch.roll(x, 5) - torch.roll(x, (-1, 2), (1, 2)),
        lambda x: F.interpolate(x, size=(3, 8)),
        lambda x: F.interpolate(x, scale_factor=(2.3, 1.4)),
        lambda x: F.interpolate(x[0], scale_factor=1.2),
        lambda x: F.interpolate(x, scale_factor=1.4, mode="nearest-exact"),
        lambda x: F.interpolate(x, scale_factor=(2, 0.5), mode="bilinear"),
        lambda x: F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True),
        lambda x: F.interpolate(x[0], size=8, mode="linear"),
        lambda x: F.interpolate(x[None], scale_factor=(1, 2, 0.5), mode="trilinear"),
        lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
        lambda x: x.repeat_interleave(2, -1),
        lambda x: torch.rot90(x, 3, (-1, -2)),
    )
    return Several(*functions), (floats(1, 2, 4, 5),), None


@family
def losses():
    """Losses, distances, and products of vectors."""
    functions = (
        lambda x, y, z: F.poisson_nll_loss(x, y.abs() + 1.5, full=True),
        lambda x, y, z: F.triplet_margin_loss(x, y, z, margin=3.0, swap=True),
        lambda x, y, z: F.soft_margin_loss(x, torch.sign(y)),
        lambda x, y, z: F.hinge_embedding_loss(x, torch.sign(y), margin=0.5),
        lambda x, y, z: F.margin_ranking_loss(x, y, torch.sign(z), margin=0.2, reduction="none"),
        lambda x, y, z: F.cosine_embedding_loss(x, y, torch.sign(z[:, 0])),
        lambda x, y, z: F.pairwise_distance(x, y, p=1),
        lambda x, y, z: torch.cdist(x, y[:3], p=1),
        lambda x, y, z: F.pdist(x),
        lambda x, y, z: torch.vdot(x[0], y[0]),
        lambda x, y, z: F.bilinear(x, y, torch.stack([z[0, :, None] * z[1], z[2, :, None] * z[3]])),
    )
    return Several(*functions), tuple(floats(4, 5, seed=seed) for seed in (2, 3, 4)), None


@family
def orders():
    """Quantiles, running extremes, sums that leave out what is no number, and areas."""
    functions = (
        lambda x: torch.quantile(x, 0.3, dim=1),
        lambda x: torch.quantile(x, 0.61, dim=0, interpolation="nearest"),
        lambda x: torch.cummax(x, 1)[0],
        lambda x: torch.cummin(x, 0)[1].float(),
        lambda x: torch.nansum(torch.where(x > 0, x, torch.nan), 1),
        lambda x: torch.nanmean(torch.where(x > -9, x, torch.nan), 0),
        lambda x: torch.trapezoid(x, dx=0.3),
        lambda x: torch.cumulative_trapezoid(x, dx=2, dim=0),
    )
    return Several(*functions), (floats(4, 6),), None


@family
def places():
    """Order statistics, places of values, windows, and elements set and taken by their places."""
    at = lambda *n: torch.tensor(n)
    functions = (
        lambda x: x.median(1)[0],
        lambda x: x.median(),
        lambda x: torch.kthvalue(x, 3, 0)[0],
        lambda x: torch.msort(x),
        lambda x: torch.aminmax(x, dim=1)[1],
        lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]), right=True).float(),
        lambda x: torch.searchsorted(torch.msort(x).T.contiguous(), x.T[:, :2].contiguous()).float(),
        lambda x: x.unfold(1, 3, 2),
        lambda x: F.unfold(x[None, None], (2, 3), padding=1, stride=(1, 2)),
        lambda x: torch.ops.aten.index_put(x, [None, at(0, 2)], x[:, :2] + 1, True),
        lambda x: x.index_copy(0, at(2, 0), 2 * x[:2]),
        lambda x: x.index_fill(1, at(1, 4), 0.5),
        lambda x: torch.take(x, at(3, -1, 20)),
        lambda x: torch.take_along_dim(x, x.argsort(1), 1),
        lambda x: torch.diag_embed(x, 1),
        lambda x: torch.diag_embed(x, -2, 0, 2),
        lambda x: torch.stack(torch.meshgrid(x[0], x[:, 0], indexing="xy")),
        lambda x: torch.dstack((x, x + 1)),
        lambda x: F.grid_sample(x[None, None], x.view(1, 3, 4, 2), align_corners=False),
        lambda x: F.grid_sample(x[None, None], x.view(1, 3, 4, 2), "bicubic", "reflection", align_corners=True),
        lambda x: F.grid_sample(x.view(1, 1, 2, 3, 4), x.view(1, 2, 2, 2, 3), "nearest", "border", align_corners=False),
        lambda x: F.affine_grid(x[None, :2, :3], (1, 1, 3, 2), align_corners=False),
    )
    return Several(*functions), (floats(4, 6),), None


@family
def statistics():
    """Smoothed labels, statistics of a batch, products of tensors, and functions with a value at 0 of their own."""
    classes, chances = torch.tensor([0, 1, -100, 5]), torch.linspace(0.1, 0.6, 6)
    functions = (
        lambda x: F.cross_entropy(x, classes, label_smoothing=0.2),
        lambda x: F.cross_entropy(x, classes, weight=chances.to(x), label_smoothing=0.1, reduction="none"),
        lambda x: F.cross_entropy(x, x.softmax(1).roll(1, 1), label_smoothing=0.3),
        lambda x: F.batch_norm(x, None, None, chances.to(x), chances.to(x) + 1, training=True),
        lambda x: F.instance_norm(x.view(1, 4, 6)),
        lambda x: torch.tensordot(x, x, ([0], [0])),
        lambda x: torch.kron(x[:2], x[2:]),
        lambda x: torch.sinc(x - x[0]),
        lambda x: torch.special.entr(x.abs()),
        lambda x: torch.special.ndtr(x),
        lambda x: torch.special.xlog1py(x - x[0], x.abs()),
        lambda x: torch.heaviside(x - x[0], chances.to(x)),
    )
    return Several(*functions), (floats(4, 6),), None


@family
def error_functions():
    """The error functions, scaled and in logarithms, where they are no more than their tails."""
    functions = (
        lambda x: x * torch.special.erfc(x),
        lambda x: x.abs() * torch.special.erfcx(x.abs()),
        lambda x: torch.special.log_ndtr(3 * x),
        lambda x: torch.logaddexp2(x, -x[:1]),
        lambda x: x * torch.isclose(x, x.round(), atol=0.2) + (~torch.isposinf(1 / x.relu())).float(),
        lambda x: x * (torch.isin(x.round(), torch.tensor([-1.0, 2.0])) | torch.isin(x.round(), 3.0)),
        lambda x: torch.isneginf(torch.log(x.relu())) + x * torch.isin(x.round(), torch.tensor([0.0, 5.0]), invert=True),
    )
    return Several(*functions), (3 * floats(4, 6),), None


@family
def aliases():
    """Operators by their other names."""
    functions = (
        lambda x: torch.arccos(torch.clip(x, -0.9, 0.9)),
        lambda x: torch.arcsin(torch.clip(x, max=0.5, min=-0.5)) + torch.arctan(x) + torch.arcsinh(x),
        lambda x: torch.arccosh(1.5 + torch.absolute(x)) + torch.arctanh(torch.tanh(x) / 2),
        lambda x: torch.arctan2(x, torch.negative(x) + 0.3),
        lambda x: torch.where(torch.less(x, 0.5), torch.true_divide(x, 3), torch.multiply(x, 1.25)),
        lambda x: torch.where(torch.greater_equal(x, 0.25), torch.subtract(x, 1), torch.divide(x, 2)),
        lambda x: torch.where(torch.greater(x, 0) | torch.less_equal(x, -1), torch.fix(3 * x), torch.sgn(x)),
        lambda x: torch.where(torch.not_equal(x.round(), 0), x, torch.special.expm1(x)),
        lambda x: torch.concatenate([torch.concat([x, x]), torch.row_stack([x, -x])], dim=-1),
        lambda x: torch.linalg.matmul(torch.swapdims(x, 0, 1), torch.moveaxis(x, 0, 0)),
        lambda x: torch.special.softmax(x, -1) + torch.special.log_softmax(x, 0),
        lambda x: torch.special.logsumexp(x, -1) - torch.special.expit(x[:, 0]),
        lambda x: torch.special.log1p(x.abs()) + torch.special.exp2(x) * torch.special.erf(x),
        lambda x: torch.special.xlogy(x, x.abs() + 1) + torch.special.sinc(x) + torch.special.round(x),
        lambda x: torch.special.gammaln(x.abs() + 2.5) + torch.special.logit(torch.sigmoid(x)),
        lambda x: torch.special.psi(x.abs() + 2.5) + torch.special.digamma(x.abs() + 3.5),
    )
    return Several(*functions), (floats(4, 6),), None


@family
def in_place():
    """Operators that work in place, and the names of what they change."""

    def residual(x):
        y = F.relu(2 * x, inplace=True)
        y += x
        y.clamp_(-1, 2).mul_(3)
        return y

    def statements(x):
        z = x + 1
        z.exp_()
        before = z * 2
        z.sub_(before).div_(x.abs() + 1)
        return z + before

    def masked(x):
        z = x.clone()
        z.masked_fill_(x > 0.5, 0.25)
        return z.t() @ z

    def filled(x):
        z = torch.empty_like(x)
        z.fill_(2.0)
        y = torch.ones_like(x)
        y.zero_()
        y.copy_(x[0])
        return z * x + y

    def activations(x):
        z = F.leaky_relu(x.neg(), 0.1, inplace=True)
        z = F.hardtanh(F.silu(z, inplace=True), inplace=True)
        z = F.dropout(z, 0.5, training=False, inplace=True)
        return F.elu(z.add_(0.1), inplace=True)

    def divergence(x):
        of = torch.distributions.Categorical
        return torch.distributions.kl_divergence(of(logits=x), of(logits=2 * x))

    functions = (residual, statements, masked, filled, activations, divergence)
    return Several(*functions), (floats(4, 6),), None


@family
def views():
    """Operators that work in place on views of a tensor: parts, other orders and other shapes."""

    def windows(x):
        mask, number = x.new_zeros(4, 6), 0
        for rows in (slice(0, -2), slice(-2, -1), slice(-1, None)):
            for columns in (slice(0, -3), slice(-3, None)):
                mask[rows, columns] = number
                number += 1
        return x * mask

    def positions(x):
        table, at = torch.zeros(4, 6), torch.arange(4.0).unsqueeze(1)
        by = torch.exp(torch.arange(0, 6, 2) * -0.3)
        table[:, 0::2] = torch.sin(at * by)
        table[:, 1::2] = torch.cos(at * by)
        return x + table.to(x)

    def parts(x):
        y = x * 1
        a, b = y.chunk(2, 1)
        a.mul_(3)
        flat = y.view(-1)
        flat[3:5] = 7
        b.add_(a)
        q, k = torch.stack([x, x + 1]).unbind(0)
        q *= 0.5
        k[0] = q[1]
        return y.t() + flat.view(6, 4) + a.sum() + k.t() - q.t()

    def orders(x):
        y = x.exp()
        z = y.t()
        z[0] = 1
        w = z.unsqueeze(0).permute(2, 0, 1)
        w[:, 0, 2:4].neg_()
        return y + z.t() * w[:, 0]

    def within(x):
        y = x + 0
        y[1:3][:, 2:4] = x[0, 0]
        y[3].clamp_(min=0)
        y.narrow(1, 1, 2).mul_(2)
        torch.split(y, [1, 3], 0)[1].sub_(1)
        y[::3] = 2.0
        y[1, 2::3] = 4
        return y.reshape(3, 8)

    def shapes(x):
        y = x.reshape(3, 8) * 1
        r = y.reshape(4, 6)
        r[:, 2] = 0
        f = r.flatten()
        f[5] = 1
        return y.sum(0) + r.sum() + f[:8]

    def diagonals(x):
        y = x[:, :4] * 1
        y.fill_diagonal_(2.0)
        y.diagonal(1).mul_(3)
        y.diagonal(-2)[0] = 7
        z = y.mT
        z[1] = 0
        return y + torch.diagonal_scatter(x[:, :4], x[0, :2], -2)

    return Several(windows, positions, parts, orders, within, shapes, diagonals), (floats(4, 6),), None


@family
def regions():
    """Parts of a program that are graphs of their own: without gradients, and where no formats are chosen."""

    def scaled(x):
        with torch.no_grad():
            a = x.sum(-1, keepdim=True).exp()
            b = a + 1
        with torch.autocast("cpu", enabled=False):
            c = x.softmax(-1) * b
            c += 1
        return c * a + b

    def nested(x):
        y = x * 1
        with torch.no_grad():
            y[0] += 1
            with torch.autocast("cpu", enabled=False):
                z = y.softmax(-1)
            w = z[0]
        y[:, 1] = w[:4]
        return y * z

    return Several(scaled, nested), (floats(4, 6),), None


@family
def matrices():
    """Products of several matrices, powers of one, sums along a dimension, places of triangles and of masks."""
    x = floats(4, 6)
    chain = lambda x: torch.linalg.multi_dot([x, x.t(), x[:, 0]]) + torch.chain_matmul(x, x.t(), x, x.t())[0]
    inner = lambda x: torch.inner(x, x)[0] + torch.inner(x, x[1]) + torch.inner(x[0], x)
    along = lambda x: torch.linalg.vecdot(x, 2 * x) + torch.linalg.vecdot(x, x.flip(0), dim=0)[:4]
    powers = lambda x: torch.linalg.matrix_power(x[:, :4], 3) - torch.matrix_power(x[:, :4], 5) + x[:, :4].adjoint()
    lower = lambda x: x[:, :4][tuple(torch.tril_indices(4, 4, -1))]
    upper = lambda x: x[tuple(torch.triu_indices(4, 6, 1))]
    masked = lambda x: x.masked_scatter(torch.arange(24).view(4, 6) % 3 > 0, x.flip(0))
    return Several(chain, inner, along, powers, lower, upper, masked), (x,), None


@family
def beyond():
    """Pools whose only window reaches beyond the end, and weights that are normalised as a batch is."""
    x = floats(1, 2, 3, 4)
    average = lambda x: F.avg_pool2d(x[:, :, :1, :2], 5, ceil_mode=True)
    greatest = lambda x: F.max_pool2d(x[:, :, :1, :2], (5, 3), stride=(7, 3), ceil_mode=True)

    def standardised(x):
        weight = x.repeat(3, 1, 1, 1)[:, :, :2, :2] * torch.arange(1, 4).view(3, 1, 1, 1)
        flat = F.batch_norm(weight.reshape(1, 3, -1), None, None, training=True, momentum=0.0, eps=1e-6)
        return F.conv2d(x, flat.reshape_as(weight))

    return Several(average, greatest, standardised), (x,), None


@family
def complex_parts():
    """Complex numbers: rotations, arithmetic, products, movement, lengths and angles."""

    def pairs(x):
        return torch.view_as_complex(x.reshape(4, 3, 2))

    def rotated(x):
        angles = torch.outer(torch.arange(4.0), 10.0 ** -torch.arange(0.0, 3.0)).to(x)
        turn = torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(pairs(x) * turn).flatten(1)

    def arithmetic(x):
        z, w = pairs(x), torch.complex(x[:, :3], x[:, 3:])
        y = (2 - z) / w + torch.exp(1j * x[:, :3]) - z.conj() * 0.5 + (z - 1).reciprocal() + torch.log(w + 3)
        return torch.view_as_real(y + (1 + 2j) * w + torch.square(z) - z**2 / 3 + torch.add(z, w, alpha=2)).sum(-1)

    def products(x):
        z, w = pairs(x), torch.complex(x[:3, :4], x[1:, :4])
        y = z @ w + torch.einsum("ab,bc->ac", z, w) + F.linear(z, w.t()) + z @ x[:3, :4].to(z.dtype)
        return torch.cat([y.real, torch.outer(z[0], w[0]).imag])

    def moved(x):
        z = pairs(x)
        y = torch.zeros(4, 4, dtype=z.dtype)
        y[:, :3] = z
        y[0, 3] = 1
        y[1:, 3] *= 0.5
        w = torch.where(x[:, :4] > 0, y, y.flip(0)).t().reshape(2, 8)[:, 1::2]
        parts = torch.stack([w, torch.roll(w, 1, 1)]).sum(0), z.mean(0), torch.cumsum(z, 1)[0]
        return torch.cat([torch.view_as_real(part).flatten() for part in parts])

    def lengths(x):
        z = pairs(x)
        return torch.cat([z.abs(), z.angle(), torch.linalg.vector_norm(z, dim=-1, keepdim=True), (z.abs() ** 2).sqrt()], 1)

    return Several(rotated, arithmetic, products, moved, lengths), (floats(4, 6),), None


@family
def fourier():
    """Fourier transforms of all kinds, lengths and norms, of windows too, and what networks make of them."""
    real = lambda z: torch.view_as_real(z.resolve_conj()).flatten(-2)

    def halves(x):
        y = torch.fft.rfft(x, n=7, norm="forward")
        return torch.cat([real(torch.fft.rfft(x)), torch.fft.irfft(torch.fft.rfft(x), n=7), real(y)], 1)

    def wholes(x):
        y = torch.fft.fft2(x, norm="ortho")
        z = torch.fft.ifft2(torch.fft.fftshift(y)) + torch.fft.fftn(x) * torch.fft.fftfreq(6).to(x)
        return real(z + torch.fft.ifftshift(torch.fft.ifftn(x, s=(3, 6), norm="forward"))[:1])

    def mirrored(x):
        y = torch.fft.irfft2(torch.fft.rfft2(x, s=(4, 8)), s=(3, 5), norm="ortho")
        z = torch.fft.hfft(torch.complex(x, x.flip(1)))
        return torch.cat([y.flatten(), z.flatten(), real(torch.fft.ihfft(x[0])), torch.fft.rfftfreq(6).to(x)])

    def long(x):
        line = x.flatten().repeat(9)
        return torch.cat([torch.fft.rfft(line).abs(), torch.fft.irfft(torch.fft.rfft(line[:97]), n=97)])

    def windows(x):
        line = x.flatten()
        y = torch.stft(line, 8, hop_length=2, window=torch.hann_window(8).to(x), return_complex=True)
        narrow = torch.stft(
            line, 8, win_length=6, window=torch.hamming_window(6).to(x), normalized=True, return_complex=True
        )
        back = torch.istft(y * 2, 8, hop_length=2, window=torch.hann_window(8).to(x), length=20)
        return torch.cat([y.abs().flatten(), back, (narrow.abs() ** 2 + 1).log().flatten()])

    def operator(x):
        """A layer of a neural operator: the low frequencies are mixed, the others left out."""
        y = torch.fft.rfft(x)
        out = torch.zeros_like(y)
        weight = torch.complex(x[:, :2], x[:, 2:4])
        out[:, :2] = torch.einsum("bk,ok->ok", y[:, :2], weight)
        return torch.fft.irfft(out, n=x.shape[-1])

    def filtered(x):
        """A convolution along the whole line, and an average over both axes by real parts."""
        own = torch.fft.irfft(torch.fft.rfft(x, n=12) * torch.fft.rfft(x.flip(1), n=12), n=12)[:, :6]
        return own + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real

    return Several(halves, wholes, mirrored, long, windows, operator, filtered), (floats(4, 6),), None


@family
def groups():
    """Rows times the matrices of their groups, elements by bins, and what comes together where an index says."""
    ends, index = torch.tensor([1, 1, 4], dtype=torch.int32), torch.arange(24).view(3, 8) * 5 % 4
    # Matrices of groups have no f64.
    experts = lambda x, w: F.grouped_mm(x.float(), w.float(), offs=ends).to(x)
    joined = lambda reduce, own: lambda x, w: x.scatter_reduce(0, index, 2 * x[:3], reduce, include_self=own)
    ways = [("mean", True)] + [(reduce, False) for reduce in ("sum", "mean", "prod", "amax", "amin")]
    counts = lambda x, w: torch.histc(x, 5, -1, 2)
    return Several(experts, counts, *(joined(*way) for way in ways)), (floats(4, 8), floats(3, 8, 4, seed=3)), None


@family
def windows():
    """Attention within the windows of an image, with masks of every rank."""
    attend = lambda x, **of: F.scaled_dot_product_attention(x, 2 * x, x.cos(), **of)
    mask = torch.arange(108).view(2, 3, 2, 3, 3) % 5 > 0
    functions = (
        attend,
        lambda x: attend(x, is_causal=True),
        lambda x: attend(x, attn_mask=mask),
        lambda x: attend(x, attn_mask=mask[0, :, :1]),
        lambda x: attend(x, attn_mask=mask[0, 0, 0].to(x)),
        lambda x: F.scaled_dot_product_attention(x, x[..., :2, :], x[..., :2, :3], scale=0.3),
    )
    functions += (
        lambda x: F.fold(x[:, 0].reshape(2, 6, 4), (4, 3), (2, 1), stride=(2, 2)),
        lambda x: F.fold(x.flatten()[:128].reshape(2, 16, 4), (3, 4), 2, dilation=(1, 2), padding=(0, 1), stride=(1, 2)),
        lambda x: F.fold(x[0, 0].reshape(4, 6), (3, 4), 2, padding=(0, 0), stride=(1, 1)),
    )
    return Several(*functions), (floats(2, 3, 2, 3, 4),), None


@family
def smoothing():
    """Resampling below filters as wide as the distance of places, and equally far numbers."""
    smooth = lambda x, **of: F.interpolate(x, antialias=True, **of)
    functions = (
        lambda x: smooth(x, size=(2, 3), mode="bilinear"),
        lambda x: smooth(x, size=(9, 4), mode="bilinear", align_corners=True),
        lambda x: smooth(x, scale_factor=0.4, mode="bilinear"),
        lambda x: smooth(x, size=(3, 8), mode="bicubic"),
        lambda x: smooth(x, scale_factor=(0.3, 1.7), mode="bicubic"),
        lambda x: x[0, 0, :, :7] * torch.linspace(-1, 2.3, 7),
        lambda x: x[0, 0, 0, 0] + torch.linspace(0.1, -5, 10),
        lambda x: x[0, 0, 0, 0] + torch.linspace(3, 4, 1),
        lambda x: torch.ops.aten.zero(x) + x,
    )
    return Several(*functions), (floats(1, 2, 7, 11),), None


@family
def bytes_of_images():
    """Unsigned integers beside others: arithmetic modulo 2^width, what types promote to, sums, and numbers of both kinds."""
    pixels = torch.arange(24, dtype=torch.uint8).view(4, 6) * 37
    signed = torch.arange(-12, 12, dtype=torch.int8).view(4, 6)
    functions = (
        lambda x, y: x.float() / 255 - 0.5,
        lambda x, y: x / 255,
        lambda x, y: x * 0.1,
        lambda x, y: x + x,
        lambda x, y: x - 200,
        lambda x, y: x * 3 + 1,
        lambda x, y: x + y,
        lambda x, y: x * y.int(),
        lambda x, y: x.sum(),
        lambda x, y: x.float().mean(1),
        lambda x, y: x.max(1)[0],
        lambda x, y: x > y,
        lambda x, y: torch.where(x > 100, x, 7),
        lambda x, y: x // 10,
        lambda x, y: x % 7,
        lambda x, y: y.abs().to(torch.uint8) * x,
        lambda x, y: (x.float() * 0.9).to(torch.uint8),
        lambda x, y: x.clamp(20, 90),
        lambda x, y: -x,
        lambda x, y: torch.arange(256, dtype=torch.float32)[x.long()],
        lambda x, y: x.to(torch.uint16).float() * 2,
        lambda x, y: (x.long() * 1000).to(torch.uint8),
        lambda x, y: x.argmax(1),
        lambda x, y: x.flatten().sort()[0],
        lambda x, y: F.pad(x, (1, 1), value=255),
    )
    as_floats = (lambda x, y, f=f: f(x, y).float() for f in functions)
    return Several(*as_floats), (pixels, signed), None


@family
def quantized():
    """Quantised tensors as PT2E writes them, by numbers and by tensors, for a tensor and for each channel."""
    import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers the operators)

    q = torch.ops.quantized_decomposed
    u8, s8 = (0, 255, torch.uint8), (-128, 127, torch.int8)
    scales, zeros = torch.tensor([0.01, 0.3, 2.0, 0.02]), torch.tensor([0, -5, 9, 100])

    def chosen(x, ends, dtype):
        scale, zero = q.choose_qparams.tensor(x, *ends, 1e-4, dtype)
        number = q.quantize_per_tensor.tensor(x, scale, zero, *ends, dtype)
        return q.dequantize_per_tensor.tensor(number, scale, zero, *ends, dtype)

    functions = (
        lambda x: q.quantize_per_tensor(x, 0.017, 120, *u8).float(),
        lambda x: q.dequantize_per_tensor(q.quantize_per_tensor(x, 0.3, -3, *s8), 0.3, -3, *s8),
        lambda x: q.quantize_per_tensor(x, 0.001, 7, -100, 90, torch.int8).float(),
        lambda x: chosen(x, u8[:2], u8[2]),
        lambda x: chosen(x * 0 + 3, s8[:2], s8[2]),
        lambda x: q.quantize_per_channel(x, scales, zeros, 0, *s8).float(),
        lambda x: q.dequantize_per_channel(q.quantize_per_channel(x, scales, zeros, 0, *s8), scales, zeros, 0, *s8),
        lambda x: q.dequantize_per_channel((x.T * 9).to(torch.int8), scales.double(), None, 1, *s8),
    )
    in_f32 = (lambda x, f=f: f(x.float()) for f in functions)
    return Several(*in_f32), (floats(4, 6),), None


@family
def scaling():
    """Rounding to digits, powers of two, a window of lines, blocks, and margins of several classes."""
    classes, weights = torch.tensor([0, 3, 1, 5]), torch.tensor([0.5, 1.0, 2.0, 0.1, 3.0, 1.5])
    functions = (
        lambda x: torch.round(x, decimals=2),
        lambda x: torch.round(x * 1000, decimals=-2),
        lambda x: torch.ldexp(x, torch.tensor([1, -2, 0, 3, 20, -30])),
        lambda x: torch.ldexp(x, x),
        lambda x: x * torch.bartlett_window(6),
        lambda x: x * torch.bartlett_window(6, periodic=False),
        lambda x: torch.block_diag(x, x[:1, :2], x[0], x[0, 0]),
        lambda x: torch.block_diag(x),
        lambda x: F.multi_margin_loss(x, classes),
        lambda x: F.multi_margin_loss(x, classes, p=2, margin=0.3, weight=weights.to(x.dtype), reduction="none"),
        lambda x: F.multi_margin_loss(x, classes, margin=-0.1, reduction="sum"),
    )
    return Several(*functions), (floats(4, 6),), None


@family
def single_numbers():
    """Dimensions of a single number, which counts as a vector of one element."""
    first = torch.tensor([0])
    functions = (
        lambda x: torch.softmax(x, 0) * x + x.log_softmax(-1),
        lambda x: x.max(0).values + x.min(-1, keepdim=True)[0],
        lambda x: x.cummax(0).values + x.cumsum(0),
        lambda x: x.topk(1).values + x.sort().values + x.kthvalue(1, 0).values,
        lambda x: x.gather(0, torch.tensor(0)) + x.index_select(0, first),
        lambda x: x.index_fill(0, first, 2.0) + x.index_add(0, first, x, alpha=3),
        lambda x: x.scatter_add(0, torch.tensor(0), x) + x.index_copy(0, first, x),
        lambda x: x.unfold(0, 1, 1),
        lambda x: torch.aminmax(x, dim=0).max + x.unsqueeze(0).sum(),
    )
    return Several(*functions), (floats(1).reshape(()),), None


@family
def other_names():
    """Operators that have simpler ones in their place."""
    functions = (
        lambda x, y: x.broadcast_to(2, 4, 6) + torch.positive(y),
        lambda x, y: torch.fliplr(x) + torch.flipud(x),
        lambda x, y: torch.hsplit(x, 2)[1] + torch.vsplit(y, 1)[0][:, :3],
        lambda x, y: torch.dsplit(x[None], [2])[1],
        lambda x, y: torch.column_stack((x, y[:, 0], y)),
        lambda x, y: torch.atleast_3d(x) + torch.atleast_2d(y[0])[..., None][:, :6],
        lambda x, y: torch.atleast_1d(x.sum(), y[0])[0],
        lambda x, y: x.mH + torch.conj_physical(y).mT,
        lambda x, y: torch.linalg.diagonal(x, offset=1) + torch.ops.aten.transpose_copy(y, 0, 1)[0],
        lambda x, y: torch.trapz(x, dim=0) + torch.angle(y)[0],
        lambda x, y: torch.diagflat(x[0, :3], 1) + torch.ops.aten.expand_copy(y[0, :4], [4, 4]),
        lambda x, y: (x + torch.zeros(3, 4, 6)).sum_to_size(4, 1),
        lambda x, y: torch.fmax(x.log(), y) + torch.fmin(x, y.sqrt()),
        lambda x, y: torch.cartesian_prod(x[0], y[0, :2], x[1]) [:, 1:],
        lambda x, y: torch.combinations(x[0], 3) + torch.combinations(y[0, :4], 3, with_replacement=True),
        lambda x, y: torch.special.multigammaln(x.abs() + 2, 3),
        lambda x, y: torch.logit(torch.sigmoid(x), 0.6) + torch.logit(torch.sigmoid(y), 0.25),
        lambda x, y: torch.ldexp(x, torch.tensor([1, 0, -1, 2, 3, -2], dtype=torch.int32)),
        lambda x, y: F.pad(x[None], (-1, 1, -2, 1), mode="circular"),
        lambda x, y: torch.linalg.vander(x, N=5),
        lambda x, y: torch.fft.irfft(x),
        lambda x, y: torch.logspace(0.0, 2.0, 6, base=2.0) * x,
        lambda x, y: torch.isreal(y) * x,
        lambda x, y: torch.fft.hfft2(x[:, :4]),
        lambda x, y: x.put(torch.tensor([[1, 5], [20, 1]]), y[:2, :2], accumulate=True),
        lambda x, y: torch.searchsorted(y[0].sort().values, 0.25) * x,
        lambda x, y: torch.ops.aten.native_layer_norm(x, [6], None, y[0], 1e-5)[2] * x,
    )
    return Several(*functions), (floats(4, 6), floats(4, 6, seed=3)), None


@family
def factors():
    """Products with factors and offsets, norms of any order, and elements that are put or joined at places."""
    places = torch.tensor([0, 2, 0, 1])
    nan = float("nan")
    functions = (
        lambda x, y: torch.addbmm(x[0], x, y, beta=0.5, alpha=0.25),
        lambda x, y: torch.addr(x[0], x[0, 0], y[0, 1], beta=0.5, alpha=2.0),
        lambda x, y: torch.baddbmm(x * nan, x, y, beta=0.0, alpha=0.5),
        lambda x, y: torch.addmm(x[0] * nan, x[0], y[1], beta=0.0),
        lambda x, y: torch.linalg.matrix_power(x, 0) + torch.linalg.matrix_power(y, 2),
        lambda x, y: F.linear(x, y[0, 0], y[0, 0, 1]),
        lambda x, y: torch.tensordot(x[:, :1], y, dims=([1, 0], [1, 0])),
        lambda x, y: torch.dist(x, y, 3.0) + torch.dist(x, y, 0.5),
        lambda x, y: torch.linalg.vector_norm(x, -1.0, 1) + torch.linalg.vector_norm(y, -float("inf"), 1),
        lambda x, y: torch.linalg.vector_norm(x.relu(), 0, -1) + torch.linalg.norm(y, dim=-1),
        lambda x, y: torch.linalg.norm(x[0], 1) + torch.linalg.norm(y),
        lambda x, y: x.index_reduce(0, places, y[[0, 1, 2, 1]], "amax") + x.index_add(0, places, y[[1, 1, 0, 2]], alpha=-0.5),
        lambda x, y: x.index_reduce(1, places, y, "mean", include_self=False),
        lambda x, y: torch.kthvalue(x, 2).values,
        lambda x, y: x[0].masked_scatter(y > 0, x),
        lambda x, y: F.avg_pool2d(x, 2, 1, 1, divisor_override=3),
        lambda x, y: torch.searchsorted(y[0, 0].sort(descending=True).values, x[0], sorter=torch.tensor([3, 2, 1, 0])) * 1.0,
    )
    return Several(*functions), (floats(3, 4, 4), floats(3, 4, 4, seed=3)), None
