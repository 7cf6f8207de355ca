"""Modules as people write them in PyTorch: C(name, harmless inputs, hostile inputs...). Needs torch alone."""
import math, torch, torch.nn.functional as F
g = torch.Generator().manual_seed(0)
R = lambda *s: torch.randn(*s, generator=g)
Un = lambda *s: torch.rand(*s, generator=g)
I = lambda hi, *s: torch.randint(0, hi, s, generator=g)
H = lambda *t: tuple(x.half() if x.is_floating_point() else x for x in t)
CASES = {}
def C(name, benign, *hostile):
    def d(f): CASES[name] = (f, benign, hostile); return f
    return d

@C("attn_add_mask", (R(2,8,16), R(2,8,16), R(2,8,16)), (R(2,8,16)*30, R(2,8,16)*30, R(2,8,16)))
def _(q, k, v):
    s = q @ k.transpose(-1, -2) / math.sqrt(16)
    s = s + torch.triu(torch.full((8, 8), float("-inf")), 1)
    e = torch.exp(s); return (e / e.sum(-1, keepdim=True)) @ v
@C("attn_f16_neg1e4", H(R(2,8,64), R(2,8,64), R(2,8,64)), H(R(2,8,64)*60, R(2,8,64)*60, R(2,8,64)))
def _(q, k, v):
    s = (q @ k.transpose(-1, -2)) * (64 ** -0.5)
    s = s + (1.0 - torch.tril(torch.ones(8, 8, dtype=torch.half))) * -10000.0
    p = torch.softmax(s.float(), -1).half(); return p @ v
@C("attn_alibi", (R(2,4,8,16), R(2,4,8,16), R(2,4,8,16)), (R(2,4,8,16)*20, R(2,4,8,16)*20, R(2,4,8,16)))
def _(q, k, v):
    s = torch.einsum("bhid,bhjd->bhij", q, k) / 4.0
    pos = torch.arange(8); dist = (pos[None, :] - pos[:, None]).float()
    slopes = torch.tensor([2.0 ** (-2 * (i + 1)) for i in range(4)])
    s = s + slopes[:, None, None] * dist
    s = torch.where(pos[None, :] > pos[:, None], torch.tensor(float("-inf")), s)
    w = torch.exp(s); w = w / torch.sum(w, dim=-1, keepdim=True); return torch.einsum("bhij,bhjd->bhid", w, v)
@C("focal_bce", (R(16), (Un(16) > 0.5).float()), (R(16)*100, (Un(16) > 0.5).float()))
def _(x, t):
    p = torch.sigmoid(x); pt = torch.where(t == 1, p, 1 - p); at = torch.where(t == 1, 0.25, 0.75)
    return -at * (1 - pt) ** 2 * torch.log(pt)
@C("focal_multiclass", (R(8,5), I(5,8)), (R(8,5)*200, I(5,8)))
def _(x, t):
    p = torch.softmax(x, 1); pt = p.gather(1, t[:, None]).squeeze(1)
    return (-((1 - pt) ** 2) * torch.log(pt)).mean()
@C("gaussian_nll", (R(32), R(32), R(32)), (R(32), R(32), R(32)*60), (R(32)*10, R(32), R(32)*10-95))
def _(mu, y, lv):
    var = torch.exp(lv); return 0.5 * (torch.log(var) + (y - mu) ** 2 / var)
@C("mdn_nll", (R(8,5), R(8,5), R(8,5)*0.3, R(8,1)), (R(8,5)*50, R(8,5), R(8,5)*0.3, R(8,1)*60))
def _(logits, mu, ls, y):
    pi = torch.softmax(logits, -1); s = torch.exp(ls)
    comp = torch.exp(-0.5 * ((y - mu) / s) ** 2) / (s * math.sqrt(2 * math.pi))
    return -torch.log((pi * comp).sum(-1))
@C("ntxent_simclr", (R(8,16),), (R(8,16)*1e22,), (R(1,16)+0.01*R(8,16),))
def _(z):
    z = z / torch.sqrt((z ** 2).sum(1, keepdim=True)); s = torch.exp(z @ z.T / 0.01)
    s = s * (1 - torch.eye(8)); pos = torch.cat([torch.diagonal(s, 4), torch.diagonal(s, -4)])
    return -torch.log(pos / s.sum(1))
@C("cosine_f16", H(R(8,64), R(8,64)), H(R(8,64)*200, R(8,64)*200), H(R(8,64)*1e-4, R(8,64)*1e-4))
def _(a, b): return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))
@C("layernorm_onepass", (R(4,64), R(64), R(64)), (R(4,64)+4000, R(64), R(64)), (R(4,64)*1e21, R(64), R(64)))
def _(x, w, b):
    m = x.mean(-1, keepdim=True); v = (x * x).mean(-1, keepdim=True) - m * m
    return (x - m) / torch.sqrt(v + 1e-5) * w + b
@C("batchnorm_hand", (R(16,4,3), R(4), R(4)), (R(16,4,3)+5000, R(4), R(4)))
def _(x, w, b):
    m = x.mean((0, 2), keepdim=True); v = (x ** 2).mean((0, 2), keepdim=True) - m ** 2
    return (x - m) / (v + 1e-5).sqrt() * w[:, None] + b[:, None]
@C("label_smoothing", (R(8,10), I(10,8)), (R(8,10)*300, I(10,8)))
def _(x, t):
    lp = torch.log(torch.softmax(x, -1)); nll = -lp.gather(-1, t.unsqueeze(1)).squeeze(1)
    return 0.9 * nll + 0.1 * -lp.mean(-1)
@C("ce_gather_sub", (R(8,10), I(10,8)), (R(8,10)*300, I(10,8)))
def _(x, t): return torch.log(torch.exp(x).sum(1)) - x.gather(1, t[:, None]).squeeze(1)
@C("pseudo_huber", (R(32), R(32)), (R(32)*1e-4, R(32)*1e-4), (R(32)*1e25, R(32)*1e25))
def _(p, t): return 4.0 * (torch.sqrt(1 + ((p - t) / 2.0) ** 2) - 1)
@C("poisson_nll", (R(32), I(9,32).float()), (R(32)*30-100, I(9,32).float()))
def _(x, t):
    rate = torch.exp(x); return rate - t * torch.log(rate)
@C("sinkhorn", (Un(6,6),), (Un(6,6)*5+2,))
def _(c):
    K = torch.exp(-c / 0.05); u = torch.ones(6) / 6; a = torch.ones(6) / 6
    for _ in range(10):
        v = a / (K.T @ u); u = a / (K @ v)
    return u[:, None] * K * v[None, :]
@C("hmm_forward", (R(4,4), R(20,4)), (R(4,4)*10, R(20,4)*20-40))
def _(A, em):
    A = torch.softmax(A, -1); B = torch.exp(em); a = B[0] / 4
    for t in range(1, 20): a = (a @ A) * B[t]
    return torch.log(a.sum())
@C("softplus_naive", (R(32),), (R(32)*200,), (R(32)*5-50,))
def _(x): return torch.log(1 + torch.exp(x))
@C("swiglu_f16", H(R(4,16), R(16,16)*.3, R(16,16)*.3), H(R(4,16)*30, R(16,16)*3, R(16,16)*3))
def _(x, w, v):
    a = x @ w; return a * (1 / (1 + torch.exp(-a))) * (x @ v)
@C("gelu_erf", (R(64),), (R(64)*5-8,))
def _(x): return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
@C("kl_softmaxes", (R(8,10), R(8,10)), (R(8,10)*100, R(8,10)*100), (lambda a: (a, a+1e-4*R(8,10)))(R(8,10)))
def _(a, b):
    p = torch.softmax(a, -1); q = torch.softmax(b, -1); return (p * (torch.log(p) - torch.log(q))).sum(-1)
@C("distill_kd", (R(8,10), R(8,10)), (R(8,10)*300, R(8,10)*300))
def _(s, t):
    ps = torch.softmax(s / 2.0, 1); pt = torch.softmax(t / 2.0, 1); return 4.0 * (pt * torch.log(pt / ps)).sum(1).mean()
@C("geo_mean", (Un(4,32)+0.1,), (Un(4,32)*1e3+1e2,), (Un(4,32)*1e-3+1e-4,))
def _(x): return torch.prod(x, -1) ** (1.0 / 32)
@C("pinball", (R(32), R(32)), (R(32)*1e6, R(32)*1e6))
def _(p, y):
    e = y - p; return torch.maximum(0.9 * e, (0.9 - 1) * e).mean()
@C("magnitude_f16", H(R(4,64), R(4,64)), H(R(4,64)*500, R(4,64)*500), H(R(4,64)*1e-4, R(4,64)*1e-4))
def _(re, im): return torch.sqrt(re * re + im * im)
@C("greatcircle_acos", (R(32), R(32), R(32), R(32)), (lambda a, b: (a, b, a+1e-4, b+1e-4))(R(32), R(32)))
def _(la1, lo1, la2, lo2): return 6371 * torch.acos(torch.sin(la1) * torch.sin(la2) + torch.cos(la1) * torch.cos(la2) * torch.cos(lo1 - lo2))
@C("student_t", (R(32), R(32), Un(32)*5+1), (R(32)*1e25, R(32), Un(32)*5+1), (R(32), R(32), Un(32)*1e6+1e5))
def _(x, mu, nu):
    z = (x - mu) ** 2; return torch.lgamma((nu + 1) / 2) - torch.lgamma(nu / 2) - 0.5 * torch.log(nu * math.pi) - (nu + 1) / 2 * torch.log(1 + z / nu)
@C("pairwise_dist", (R(6,16), R(5,16)), (R(6,16)+1000, R(5,16)+1000), (lambda a: (a, a[:5]+1e-3*R(5,16)))(R(6,16)+10))
def _(x, y): return torch.sqrt((x ** 2).sum(1)[:, None] + (y ** 2).sum(1)[None, :] - 2 * x @ y.T)
@C("cdist_clamp", (R(6,16), R(5,16)), (R(6,16)+1000, R(5,16)+1000))
def _(x, y):
    d = x.pow(2).sum(1, keepdim=True) - 2 * torch.matmul(x, y.t()) + y.pow(2).sum(1); return torch.sqrt(torch.clamp(d, min=1e-12))
@C("planar_flow", (R(8,4), R(4), R(4), R(1)), (R(8,4)*30, R(4), R(4), R(1)))
def _(z, w, u, b):
    a = z @ w + b; psi = (1 - torch.tanh(a) ** 2)[:, None] * w; return torch.log(torch.abs(1 + psi @ u))
@C("sac_tanh_logdet", (R(8,4),), (R(8,4)*30,), (R(8,4)*1e-4,))
def _(u): return torch.log(1 - torch.tanh(u) ** 2).sum(-1)
@C("kalman_update", (R(4), R(4,4)*.1+torch.eye(4), R(2,4), R(2)), (R(4), (lambda a: a@a.T)(R(4,4))*1e4, R(2,4), R(2)))
def _(x, P, Hm, y):
    S = Hm @ P @ Hm.T + 1e-3 * torch.eye(2); det = S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]
    Si = torch.stack([torch.stack([S[1, 1], -S[0, 1]]), torch.stack([-S[1, 0], S[0, 0]])]) / det
    K = P @ Hm.T @ Si; return x + K @ (y - Hm @ x), (torch.eye(4) - K @ Hm) @ P
@C("cox_ph", (R(16), (Un(16)>.3).float()), (R(16)*60, (Un(16)>.3).float()))
def _(h, e): return -((h - torch.log(torch.cumsum(torch.exp(h), 0))) * e).sum()
@C("weibull_nll", (Un(16)*5+.1, Un(16)+.5, Un(16)+.5), (Un(16)*500+.1, Un(16)*5+.5, Un(16)+.5))
def _(t, k, lam): return -torch.log(k / lam * (t / lam) ** (k - 1) * torch.exp(-((t / lam) ** k)))
@C("ema_f16", H(R(16,8),), H(R(16,8)*30000,))
def _(x):
    e = x[0]
    for t in range(1, 16): e = 0.99 * e + 0.01 * x[t]
    return e
@C("diffusion_snr", (Un(50)*.02+1e-4,), (Un(50)*1e-6+1e-8,), (Un(50)*.9+.09,))
def _(beta):
    ab = torch.cumprod(1 - beta, 0); return torch.log(ab / (1 - ab)), torch.sqrt(1 - ab)
@C("skew_kurt_raw", (R(4,64),), (R(4,64)+100,))
def _(x):
    m = x.mean(-1); m2 = (x ** 2).mean(-1); m3 = (x ** 3).mean(-1); v = m2 - m ** 2
    return (m3 - 3 * m * m2 + 2 * m ** 3) / v ** 1.5
@C("iwae", (R(4,20),), (R(4,20)*20-300,), (R(4,20)*20+300,))
def _(lw): return torch.log(torch.mean(torch.exp(lw), -1))
@C("reinforce", (R(8,5), I(5,8), R(8)), (R(8,5)*150, I(5,8), R(8)))
def _(l, a, adv): return -(torch.log(torch.softmax(l, -1)[torch.arange(8), a]) * adv).mean()
@C("bce_f16", H(R(16), (Un(16)>.5).float()), H(R(16)*20, (Un(16)>.5).float()))
def _(x, t):
    p = torch.sigmoid(x); return -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean()
@C("gem_pool_f16", H(Un(2,4,64)+.1,), H(Un(2,4,64)*100,), H(Un(2,4,64)*.01,))
def _(x): return x.clamp(min=1e-6).pow(3).mean(-1).pow(1 / 3)
@C("l2norm_f16", H(R(4,64),), H(R(4,64)*500,), H(R(4,64)*1e-4,))
def _(x): return x / torch.sqrt(torch.sum(x ** 2, dim=-1, keepdim=True))
@C("triplet", (R(8,16), R(8,16), R(8,16)), (R(8,16)*1e22, R(8,16)*1e22, R(8,16)*1e22))
def _(a, p, n): return F.relu(torch.sqrt(((a - p) ** 2).sum(1)) - torch.sqrt(((a - n) ** 2).sum(1)) + 1.0)
@C("log_power_f16", H(R(4,64), R(4,64)), H(R(4,64)*500, R(4,64)*500), H(R(4,64)*1e-3, R(4,64)*1e-3))
def _(re, im): return 10 * torch.log10(re ** 2 + im ** 2)
@C("truncnorm_logz", (R(16), Un(16)+.1), (R(16)*3+9, Un(16)*.1+.01))
def _(a, w):
    P = lambda x: 0.5 * (1 + torch.erf(x / math.sqrt(2.0))); return torch.log(P(a + w) - P(a))
@C("log1mexp", (Un(32)*3+.1,), (Un(32)*1e-8+1e-12,), (Un(32)*100+20,))
def _(x): return torch.log(1 - torch.exp(-x))
@C("mamba_zoh", (R(2,10,4), R(2,10,4), -Un(4)-.5, R(4)), (R(2,10,4), R(2,10,4)*5-10, -Un(4)-.5, R(4)))
def _(u, dt, A, B):
    d = torch.log(1 + torch.exp(dt)); h = torch.zeros(2, 4); ys = []
    for t in range(10):
        dA = d[:, t] * A; h = torch.exp(dA) * h + (torch.exp(dA) - 1) / A * B * u[:, t]; ys.append(h)
    return torch.stack(ys, 1)
@C("arcface", (R(4,16), R(8,16)), (lambda a: (a, a.repeat(2,1)))(R(4,16)))
def _(x, w):
    c = (x / x.norm(dim=1, keepdim=True)) @ (w / w.norm(dim=1, keepdim=True)).T; s = torch.sqrt(1 - c ** 2)
    return 64 * (c * math.cos(.5) - s * math.sin(.5))
@C("router_zloss", (R(8,4), R(8,4)), (R(8,4)*60, R(8,4)))
def _(x, v):
    z = torch.log(torch.exp(x).sum(-1)) ** 2; p = torch.exp(x) / torch.exp(x).sum(-1, keepdim=True); return z.mean(), (p * v).sum(-1)
@C("edl_evidential_var", (R(8), R(8), Un(8)+.1, Un(8)+1.1, Un(8)+.1), (R(8)*1e3, R(8), Un(8)*1e-3, Un(8)*200+1.1, Un(8)+.1))
def _(y, gam, nu, al, be):
    om = 2 * be * (1 + nu); return 0.5 * torch.log(math.pi / nu) - al * torch.log(om) + (al + .5) * torch.log(nu * (y - gam) ** 2 + om) + torch.lgamma(al) - torch.lgamma(al + .5)
@C("zscore_torch_std", (R(4,64),), (R(4,64)+1e5,), (R(4,64)*1e25,))
def _(x): return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-8)
@C("dpo_loss", (R(8), R(8), R(8), R(8)), (R(8)*2000, R(8)*2000, R(8)*2000, R(8)*2000))
def _(pw, pl, rw, rl): return -torch.log(torch.sigmoid(0.1 * ((pw - pl) - (rw - rl))))
@C("perplexity", (R(8,10), I(10,8)), (R(8,10)*100, I(10,8)))
def _(x, t):
    p = torch.softmax(x, -1); return torch.exp(-torch.log(p[torch.arange(8), t]).mean())
