"""Writes PyTorch exported programs (.pt2), their inputs and what torch computes from them (.npz).

    python testdata/make_pt2.py                 the small ones that are kept, into testdata/pt2
    python testdata/make_pt2.py --all FOLDER    all families, at two levels of decomposition
    python testdata/make_pt2.py --half FOLDER   elementwise functions of f16 and bf16, on all 65536 numbers

Needs torch 2.15; the families also torchvision, timm and transformers. All weights are drawn at random with a fixed
seed. FAMILY.in.npz holds the arguments (arg0, arg1, ...), FAMILY.out.npz the results in the program's own formats (y00,
...) and in float64 (d00, ...). In testdata/pt2/half results have the names of functions, and bf16 is two bytes of
NumPy's void.
"""

import argparse
import copy
import logging
import os
import sys
import warnings
import zipfile
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import Dim

from half_functions import ARITHMETIC, FUNCTIONS, SUMS
from torch_functions import FAMILIES, floats

SMALL, LARGE = {}, {}


def small(make):
    SMALL[make.__name__] = make
    return make


def large(make):
    LARGE[make.__name__] = make
    return make


def tokens(*shape, below=90):
    return torch.randint(0, below, shape, generator=torch.Generator().manual_seed(1))


def randomized(model):
    """Statistics that are not the trivial ones, and no layer that starts at zero."""
    generator = torch.Generator().manual_seed(0)
    draw = lambda shape: torch.randn(shape, generator=generator)
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(draw(buffer.shape) * 0.1)
            if name.endswith("running_var"):
                buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
        for parameter in model.parameters():
            if parameter.numel() > 1 and not parameter.any():
                parameter.copy_(draw(parameter.shape) * 0.1)
    return model.eval()


class Tensor(nn.Module):
    """A model of transformers whose result is one tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *args):
        out = self.model(*args)
        for name in ("logits", "last_hidden_state"):
            if hasattr(out, name):
                return getattr(out, name)
        return out


# What is kept: every layer kind once, in a few kilobytes.


@small
def mlp():
    """A classifier of any number of samples; a tied and a transposed weight, a lifted constant."""

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.norm, self.fc2 = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 4)
            self.tied = self.fc1.weight
            self.register_buffer("scale", torch.tensor(2.0))

        def forward(self, x):
            h = torch.relu(self.norm(self.fc1(x))) * self.scale + torch.tensor([0.5, -0.5] * 4)
            return torch.log_softmax(self.fc2(h) @ self.tied.t(), -1)

    return Mlp(), (floats(3, 4),), ({0: Dim("batch", min=1, max=64)},)


@small
def scans():
    """Running logarithms of sums of exponentials, along both dimensions, and a running sum."""

    class Scans(nn.Module):
        def forward(self, x):
            return torch.logcumsumexp(x, 1), torch.logcumsumexp(100 * x, 0), torch.cumsum(x, -1)

    return Scans(), (floats(4, 6),), None


@small
def state():
    class Model(nn.Module):
        """A cache that is written at places, running statistics of two kinds, and an input that is changed in place."""

        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(2, 6, 4))
            self.register_buffer("mean", torch.ones(4))
            self.register_buffer("batch_mean", torch.ones(4))
            self.register_buffer("batch_var", torch.ones(4))

        def forward(self, x, places):
            self.mean.mul_(0.9).add_(x.mean((0, 1)), alpha=0.1)
            self.cache[:, places] = x
            x.mul_(2.0)
            y = (x / self.mean.abs().clamp(min=0.5)).flatten(0, 1)
            y = F.batch_norm(y, self.batch_mean, self.batch_var, training=True, momentum=0.3)
            return y, torch.softmax(self.cache.sum(-1), -1)

    return Model(), (floats(2, 3, 4), torch.tensor([4, 1, 2])), None


@small
def state_in_place():
    class Model(nn.Module):
        """The same before it was decomposed: places of a cache, and of an input's view, that are changed."""

        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(2, 6, 4))
            self.register_buffer("mean", torch.ones(4))

        def forward(self, x, places):
            self.mean.mul_(0.75).add_(x.mean((0, 1)), alpha=0.25)
            self.cache.index_copy_(1, places, x)
            self.cache[:, :1] += 1.0
            x[..., 0].mul_(2.0)
            return x / self.mean.abs().clamp(min=0.5), torch.softmax(self.cache.sum(-1), -1)

    return Model(), (floats(2, 3, 4), torch.tensor([4, 1, 2])), None


@small
def choices():
    class Model(nn.Module):
        """Graphs of which a value says which one is taken, one within another."""

        def forward(self, x, y):
            def far(x, y):
                return torch.cond(y.mean() > 0, lambda x, y: (x.exp(), y.abs()), lambda x, y: (x.neg(), x * y), (x, y))

            def near(x, y):
                return torch.log1p(x * x), torch.softmax(y, -1)

            first = torch.cond(x.abs().max() > 1e-3, far, near, (x, y))
            second = torch.cond(x.abs().max() > 1e3, far, near, (x, y))
            return *first, *second, torch.renorm(x, 2, 0, 1.5), torch.renorm(x * 2**-10, 1, 1, 1.5)

    return Model(), (floats(3, 4), floats(3, 4)), None


@small
def steps():
    from torch._higher_order_ops.map import map as over_rows
    from torch._higher_order_ops.scan import scan

    class Model(nn.Module):
        """A recursion of logarithms of sums of exponentials, from either end and along another dimension, a running mean, and a map over rows."""

        def forward(self, x, y):
            def forward(state, row):
                new = torch.log(torch.exp(state + y.sum()) + torch.exp(row))
                return new, new.amax()

            def with_two(state, rows):
                mean, count = state
                return (mean + (rows[0] - mean) / count, count + 1), rows[0] * rows[1]

            last, tops = scan(forward, x[0], x, dim=0)
            first, others = scan(forward, torch.zeros(5, dtype=x.dtype), x[:, :3], dim=1, reverse=True)
            state = (torch.zeros(4, dtype=x.dtype), torch.ones((), dtype=x.dtype))
            (mean, count), products = scan(with_two, state, (x, 2 * x), dim=0)
            rows = over_rows(lambda row, y: torch.softmax(row * y, -1), x, y)
            return last, tops, first, others, mean, count, products, rows

    return Model(), (floats(5, 4), floats(4)), None


@small
def attention():
    """Causal attention over a sequence of any length, with positions."""

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(16, 8), nn.Embedding(12, 8)
            self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, ids):
            b, s = ids.shape
            x = self.token(ids) + self.position(torch.arange(s))
            q, k, v = self.qkv(self.norm(x)).view(b, s, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(y.transpose(1, 2).flatten(2))

    batch, length = Dim("batch", min=1, max=8), Dim("length", min=2, max=12)
    return Attention(), (tokens(2, 5, below=16),), ({0: batch, 1: length},)


@small
def image():
    """Convolutions, norms, pools, resampling and gates of image models."""

    class Image(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
            self.norm, self.group = nn.BatchNorm2d(8), nn.GroupNorm(4, 8)
            self.b = nn.Conv2d(8, 8, 3, padding="same", groups=8)
            self.c, self.up = nn.Conv2d(8, 4, 1), nn.ConvTranspose2d(4, 8, 2, stride=2)
            self.gate, self.head = nn.Conv2d(8, 8, 1), nn.Linear(8 + 8 * 4, 5)

        def forward(self, x):
            x = F.hardswish(self.norm(self.a(x)))
            y = F.gelu(self.c(F.silu(self.group(self.b(x)))))
            y = self.up(F.max_pool2d(y, 2)) + F.interpolate(F.avg_pool2d(x, 3, 2, 1), scale_factor=2)
            y = y * F.hardsigmoid(self.gate(F.adaptive_avg_pool2d(y, 1)))
            pooled = F.adaptive_avg_pool2d(F.pad(y, (0, 1, 1, 0)), 2)
            return self.head(torch.cat([y.mean((2, 3)), pooled.flatten(1)], 1))

    return Image(), (floats(1, 3, 16, 16),), None


class Cell(nn.Module):
    """A gated recurrent cell written out, unrolled over its inputs."""

    def __init__(self, inputs=4, width=6):
        super().__init__()
        self.x, self.h = nn.Linear(inputs, 3 * width), nn.Linear(width, 3 * width)

    def forward(self, x, h):
        states = []
        for t in range(x.shape[1]):
            xr, xz, xn = self.x(x[:, t]).chunk(3, -1)
            hr, hz, hn = self.h(h).chunk(3, -1)
            z = torch.sigmoid(xz + hz)
            h = (1 - z) * torch.tanh(xn + torch.sigmoid(xr + hr) * hn) + z * h
            states.append(h)
        return torch.stack(states, 1), h


@small
def recurrent():
    return Cell(), (floats(2, 3, 4), torch.zeros(2, 6)), None


@small
def layers():
    """Layers of recurrent networks, a normalized weight and bags of rows."""

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.lstm = nn.GRU(4, 3, bidirectional=True), nn.LSTM(4, 3, batch_first=True)
            self.rnn, self.cell = nn.RNN(4, 3), nn.GRUCell(4, 3)
            self.bag = nn.EmbeddingBag(5, 3, mode="mean")
            self.norm = nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))

        def forward(self, x):
            rows, starts = torch.tensor([0, 3, 2, 4]), torch.tensor([0, 1, 3])
            y, state = self.lstm(x)
            return self.gru(x)[0], y, state[1], self.rnn(x)[0], self.cell(x[0]), self.bag(rows, starts), self.norm(x)

    return Layers(), (floats(2, 3, 4),), None


SMALL.update((make.__name__, make) for make in FAMILIES)

# The families.


def transformer(name, implementation):
    import transformers as T

    common = dict(vocab_size=96, attn_implementation=implementation)
    wide = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    decoder = dict(num_key_value_heads=2, max_position_embeddings=32, use_cache=False)
    ids, mask = tokens(2, 8), torch.ones(2, 8, dtype=torch.int64)
    if name == "gpt2":
        config = T.GPT2Config(n_positions=32, n_embd=32, n_layer=2, n_head=2, use_cache=False, **common)
        # One sample: torch cannot take the attention of several apart in this model.
        return Tensor(T.GPT2LMHeadModel(config)), (ids[:1],)
    if name == "bert":
        return Tensor(T.BertModel(T.BertConfig(max_position_embeddings=32, **wide, **common))), (ids, mask)
    if name == "distilbert":
        config = T.DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=32, **common)
        return Tensor(T.DistilBertModel(config)), (ids, mask)
    if name == "llama":
        return Tensor(T.LlamaForCausalLM(T.LlamaConfig(**wide, **decoder, **common))), (ids,)
    if name == "qwen2":
        return Tensor(T.Qwen2ForCausalLM(T.Qwen2Config(**wide, **decoder, **common))), (ids,)
    if name == "t5_encoder":
        common.pop("attn_implementation")
        config = T.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, use_cache=False, **common)
        return Tensor(T.T5EncoderModel(config)), (ids,)
    config = T.ViTConfig(image_size=32, patch_size=8, attn_implementation=implementation, **wide)
    return Tensor(T.ViTForImageClassification(config)), (floats(2, 3, 32, 32),)


def add_transformers():
    for name in ("gpt2", "bert", "distilbert", "llama", "qwen2", "t5_encoder", "vit"):
        for implementation in ("eager", "sdpa") if name in ("gpt2", "bert", "llama", "vit") else ("sdpa",):
            make = lambda name=name, i=implementation: (*transformer(name, i), None)
            LARGE[f"{name}_{implementation}"] = make

    def dynamic(name):
        batch, length = Dim("batch", min=1, max=16), Dim("length", min=2, max=32)
        model, args = transformer(name, "sdpa")
        return model, args, (tuple({0: batch, 1: length} for _ in args),)

    for name in ("bert", "llama"):
        LARGE[f"{name}_dynamic"] = lambda name=name: dynamic(name)


def add_torchvision():
    import torchvision.models as V
    from torchvision.models import convnext, densenet, resnet, swin_transformer, vgg, vision_transformer

    class Narrow(resnet.ResNet):
        """A ResNet an eighth as wide."""

        def __init__(self, block, **options):
            super().__init__(block, [2, 2, 1, 1], num_classes=10, **options)
            self.fc = nn.Linear(64 * block.expansion, 10)

        def _make_layer(self, block, planes, *rest, **options):
            return super()._make_layer(block, planes // 8, *rest, **options)

    x = floats(1, 3, 32, 32)
    group = lambda channels: nn.GroupNorm(4, channels)
    LARGE["resnet"] = lambda: (Narrow(resnet.BasicBlock), (x,), None)
    LARGE["resnet_bottleneck"] = lambda: (Narrow(resnet.Bottleneck), (x,), None)
    LARGE["resnet_groupnorm"] = lambda: (Narrow(resnet.BasicBlock, norm_layer=group), (x,), None)
    batch = {0: Dim("batch", min=1, max=64)}
    LARGE["resnet_dynamic"] = lambda: (Narrow(resnet.BasicBlock), (floats(2, 3, 32, 32),), (batch,))
    for name, size in [
        ("mobilenet_v2", 32),
        ("mobilenet_v3_small", 32),
        ("efficientnet_b0", 32),
        ("squeezenet1_1", 64),
        ("shufflenet_v2_x0_5", 64),
        ("regnet_y_400mf", 32),
    ]:
        make = lambda name=name: getattr(V, name)(weights=None, num_classes=10)
        LARGE[name] = lambda make=make, size=size: (make(), (floats(1, 3, size, size),), None)

    @large
    def convnext_small():
        block = convnext.CNBlockConfig
        return convnext.ConvNeXt([block(16, 32, 1), block(32, None, 2)], num_classes=10), (x,), None

    @large
    def densenet_small():
        return densenet.DenseNet(8, (2, 2, 2), 16, num_classes=10), (x,), None

    @large
    def vgg_small():
        model = vgg.VGG(vgg.make_layers([8, "M", 16, "M", 32, 32, "M"], batch_norm=True), num_classes=10)
        layers = [nn.Linear(32 * 49, 32), nn.ReLU(True), nn.Dropout(), nn.Linear(32, 10)]
        model.classifier = nn.Sequential(*layers)
        return model, (x,), None

    @large
    def vit_torchvision():
        return vision_transformer.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=10), (x,), None

    @large
    def swin():
        model = swin_transformer.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10)
        return model, (x,), None


def add_timm():
    import timm

    x = floats(1, 3, 32, 32)
    sizes = dict(img_size=32, patch_size=8, embed_dim=32, num_classes=10)
    vit = lambda: timm.models.vision_transformer.VisionTransformer(depth=2, num_heads=2, **sizes)
    mixer = lambda: timm.models.mlp_mixer.MlpMixer(num_blocks=2, **sizes)
    stages = dict(depths=(1, 1, 2, 1), dims=(8, 16, 32, 64), num_classes=10)
    LARGE["timm_vit"] = lambda: (vit(), (x,), None)
    LARGE["timm_mixer"] = lambda: (mixer(), (x,), None)
    LARGE["timm_convnext"] = lambda: (timm.models.convnext.ConvNeXt(**stages), (x,), None)


@large
def gru_cell():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(8, 16)

        def forward(self, x, h):
            return self.cell(x, h)

    return Step(), (floats(2, 8), floats(2, 16, seed=3)), None


@large
def transformer_encoder():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (floats(2, 6, 32),), None


@large
def unet_groupnorm():
    """The blocks of a diffusion model, with its embedding of the time."""

    class Block(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(4, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
            self.norm2, self.conv2 = nn.GroupNorm(4, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
            self.time, self.skip = nn.Linear(8, outputs), nn.Conv2d(inputs, outputs, 1)

        def forward(self, x, t):
            h = self.conv1(F.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
            return self.conv2(F.silu(self.norm2(h))) + self.skip(x)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 3, 1)
            self.down, self.up = nn.Conv2d(8, 8, 3, 2, 1), nn.ConvTranspose2d(16, 8, 2, 2)
            self.a, self.b, self.c = Block(8, 8), Block(8, 16), Block(16, 8)

        def forward(self, x, t):
            angles = t[:, None] * torch.arange(4)
            t = torch.cat([torch.sin(angles), torch.cos(angles)], -1)
            a = self.a(self.first(x), t)
            b = self.b(self.down(a), t)
            up = self.up(b) + F.interpolate(b, scale_factor=2, mode="nearest")[:, :8]
            return self.last(self.c(torch.cat([up, a], 1), t))

    return UNet(), (floats(1, 3, 16, 16), torch.tensor([3.0])), None


class Each(nn.Module):
    """Some functions of the same operands."""

    def __init__(self, functions):
        super().__init__()
        self.functions = list(functions.values())

    def forward(self, x, y, z):
        return tuple(f(x, y, z) for f in self.functions)


def bits(tensor):
    """As NumPy holds it: bf16 as bytes."""
    return tensor.view(torch.int16).numpy().view("V2") if tensor.dtype == torch.bfloat16 else tensor.numpy()


def deflate(path):
    """torch stores the files of an archive as they are."""
    with zipfile.ZipFile(path) as archive:
        files = [(zipfile.ZipInfo(name), archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w") as archive:
        for info, data in files:
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)


def write_half(folder, count, levels):
    """Programs of f16 and bf16 on so many of the 65536 numbers, and what torch gives for them."""
    folder.mkdir(parents=True, exist_ok=True)
    for dtype, format in ((torch.float16, "f16"), (torch.bfloat16, "bf16")):
        draw = lambda seed: torch.randperm(65536, generator=torch.Generator().manual_seed(seed))[:count]
        numbers = tuple((draw(seed) - 32768).to(torch.int16).view(dtype) for seed in (4, 5, 6))
        matrices = (floats(8, 64, seed=4), floats(64, 64, seed=5), floats(64, seed=6).abs() + 0.5)
        matrices = tuple(m.to(dtype) for m in matrices)
        groups = {
            "arithmetic": (ARITHMETIC, numbers),
            "functions": (FUNCTIONS, numbers),
            "sums": (SUMS, matrices),
        }
        for group, (functions, args) in groups.items():
            np.savez_compressed(folder / f"{group}.{format}.in.npz", **{f"arg{i}": bits(a) for i, a in enumerate(args)})
            program = torch.export.export(Each(functions), args)
            for level in levels:
                lowered = program
                if level != "plain":
                    lowered = program.run_decompositions({} if level == "high" else None)
                results = lowered.module()(*args)
                for node in lowered.graph.nodes:
                    for key in ("stack_trace", "nn_module_stack", "from_node"):
                        node.meta.pop(key, None)
                lowered.example_inputs = None
                name = f"{group}.{format}.{level}"
                torch.export.save(lowered, folder / f"{name}.pt2")
                deflate(folder / f"{name}.pt2")
                np.savez_compressed(folder / f"{name}.out.npz", **{k: bits(y) for k, y in zip(functions, results)})
                print(name, flush=True)


# Small families that are stored at both levels of decomposition.
TWO_LEVELS = ("places", "statistics")
# Those that are stored as they were exported.
PLAIN = ("aliases", "factors", "other_names", "single_numbers", "in_place", "state_in_place", "views", "regions", "matrices", "complex_parts", "fourier")


def without_places(program):
    """Leaves out of the nodes where this machine keeps its files, and what changes from run to run."""
    home = os.path.dirname(os.path.abspath(__file__)) + "/"
    for node in program.graph.nodes:
        if "stack_trace" in node.meta:
            trace = node.meta["stack_trace"].replace(home, "")
            lines = [line.split("site-packages/")[-1] for line in trace.splitlines()]
            kept = [f'  File "{line}' if ", line " in line and "File" not in line else line for line in lines]
            node.meta["stack_trace"] = "\n".join(kept)
        node.meta.pop("from_node", None)


def called(model, args, changed):
    """The results of a call, and what it changes: buffers and inputs, by these names."""
    model, args = copy.deepcopy(model), [a.clone() for a in args]
    with torch.no_grad():
        y = model(*args)
    buffers, inputs = dict(model.named_buffers()), {f"arg{i}": a for i, a in enumerate(args)}
    return (list(y) if isinstance(y, (tuple, list)) else [y]) + [{**buffers, **inputs}[name] for name in changed]


def write(name, make, folder, levels):
    torch.manual_seed(0)
    model, args, dynamic = make()
    model = randomized(model)
    program = torch.export.export(model, args, dynamic_shapes=dynamic)
    signature = program.run_decompositions({}).graph_signature
    buffers = dict(model.named_buffers())
    # Counts of batches are read by nobody.
    state = [name for name in signature.buffers_to_mutate.values() if buffers[name].is_floating_point()]
    place = {name: f"arg{i}" for i, name in enumerate(signature.user_inputs)}
    changed = state + [place[name] for name in signature.user_inputs_to_mutate.values()]
    results = called(model, args, changed)
    wide = [a.double() if a.is_floating_point() else a for a in args]
    exact = called(copy.deepcopy(model).double(), wide, changed)
    args = [*args, *(buffers[name] for name in state)]
    for level in levels:
        lowered = {
            "plain": lambda: program,
            "high": lambda: program.run_decompositions({}),
            "core": lambda: program.run_decompositions(),
        }[level]()
        without_places(lowered)
        # torch keeps the arguments in the archive, pickled; ours lie beside it.
        lowered.example_inputs = None
        suffix = f".{level}" if len(levels) > 1 else ""
        path = folder / f"{name}{suffix}.pt2"
        torch.export.save(lowered, path)
        if name in ("resampling", "losses", "orders", "layers", *TWO_LEVELS, *PLAIN):
            deflate(path)
    np.savez(folder / f"{name}.in.npz", **{f"arg{i}": a.numpy() for i, a in enumerate(args)})
    out = {f"y{i:02}": y.numpy() for i, y in enumerate(results)}
    np.savez(folder / f"{name}.out.npz", **out, **{f"d{i:02}": y.numpy() for i, y in enumerate(exact)})


class Factors(nn.Module):
    """A Gaussian process's likelihood beside operators that ngc does not compute."""

    def forward(self, k, y):
        spread = torch.log(torch.exp(y).sum(-1, keepdim=True))
        factor = torch.linalg.cholesky(k)
        weights = torch.cholesky_solve(y[:, None], factor)
        sign, size = torch.linalg.slogdet(k)
        return (y[None] @ weights).sum() + size * sign + spread + torch.median(y) + torch.linalg.inv(k).sum()


def write_calls(folder):
    folder.mkdir(parents=True, exist_ok=True)
    args = (torch.eye(4) + 1, floats(4))
    np.savez(folder / "factors.in.npz", arg0=args[0].numpy(), arg1=args[1].numpy())
    program = torch.export.export(Factors(), args)
    for level, made in ("high", program), ("core", program.run_decompositions()):
        path = folder / f"factors.{level}.pt2"
        without_places(made)
        torch.export.save(made, path)
        deflate(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", metavar="FOLDER", type=Path, help="writes all families there")
    parser.add_argument("--only", metavar="FAMILY", help="writes this one alone")
    parser.add_argument("--half", metavar="FOLDER", type=Path, help="writes elementwise functions there")
    options = parser.parse_args()
    if options.half:
        return write_half(options.half, 65536, ["plain", "high", "core"])
    models, levels = dict(SMALL), ["high"]
    both = ["high", "core"]
    folder = Path(__file__).parent / "pt2"
    if options.all:
        for add in (add_transformers, add_torchvision, add_timm):
            try:
                add()
            except ImportError as e:
                print(f"left out: {e}", file=sys.stderr)
        models, levels, folder = {**SMALL, **LARGE}, both, options.all
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in models.items():
        if options.only in (None, name):
            write(name, make, folder, ["plain"] if name in PLAIN else both if name in TWO_LEVELS else levels)
            print(name, flush=True)
    if not options.all and options.only in (None, "half"):
        write_half(folder / "half", 256, ["high"])
    if not options.all and options.only in (None, "calls"):
        write_calls(folder / "calls")


if __name__ == "__main__":
    main()
