#!/usr/bin/env python3
"""Builds twelve network architectures at their published sizes, with weights from a seed, by the frameworks' own model code.

    benches/models.py FOLDER [--only NAME ...] [--small] [--format onnx|pt2]

Writes NAME.onnx (one file, weights inside) or NAME.pt2, and NAME.npz: four samples of the inputs for
ngc-opt --calibrate. Token ids are drawn from the vocabulary, images and spectrograms from a normal distribution.
--small makes each an eighth as wide and two layers deep. Weights are those of each model's own initialisation after
torch.manual_seed(0), statistics of batch norms drawn beside. Needs torch, torchvision, transformers, onnx and onnxscript.
"""

import argparse
import logging
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np
import torch
import torch.nn as nn

MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


class One(nn.Module):
    """A model of transformers whose arguments are named and whose result is one tensor."""

    def __init__(self, model, *names, **options):
        super().__init__()
        self.model, self.names, self.options = model, names, options

    def forward(self, *args):
        out = self.model(**dict(zip(self.names, args)), **self.options)
        for name in ("logits", "last_hidden_state"):
            if getattr(out, name, None) is not None:
                return getattr(out, name)
        return out


def ids(vocabulary, length):
    return lambda seed: torch.randint(0, vocabulary, (1, length), generator=torch.Generator().manual_seed(seed))


def normal(*shape):
    return lambda seed: torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def language(cls, config, vocabulary, length=128, **options):
    options = {"use_cache": False, **options} if "use_cache" not in options else options
    return One(cls(config), "input_ids", **{k: v for k, v in options.items() if v is not None}), {
        "input_ids": ids(vocabulary, length)
    }


@model
def gpt2(small):
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = dict(n_layer=2, n_embd=96, n_head=4, vocab_size=512) if small else {}
    config = GPT2Config(attn_implementation="eager", **sizes)
    return language(GPT2LMHeadModel, config, config.vocab_size)


@model
def bert(small):
    from transformers import BertConfig, BertModel

    sizes = dict(num_hidden_layers=2, hidden_size=96, num_attention_heads=4, intermediate_size=384, vocab_size=512)
    config = BertConfig(attn_implementation="eager", **(sizes if small else {}))
    return language(BertModel, config, config.vocab_size, use_cache=None)


@model
def llama(small):
    from transformers import LlamaConfig, LlamaForCausalLM

    # The sizes of a model of 0.16 billion parameters.
    sizes = dict(hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12)
    little = dict(hidden_size=96, intermediate_size=384, num_hidden_layers=2, num_attention_heads=4, vocab_size=512)
    config = LlamaConfig(attn_implementation="eager", **(little if small else sizes))
    return language(LlamaForCausalLM, config, config.vocab_size)


@model
def t5_encoder(small):
    from transformers import T5Config, T5EncoderModel

    sizes = dict(d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12)
    little = dict(d_model=96, d_kv=24, d_ff=384, num_layers=2, num_heads=4, vocab_size=512)
    config = T5Config(**(little if small else sizes))
    return language(T5EncoderModel, config, config.vocab_size, use_cache=None)


@model
def vit(small):
    from transformers import ViTConfig, ViTForImageClassification

    sizes = dict(hidden_size=96, num_hidden_layers=2, num_attention_heads=4, intermediate_size=384, image_size=32)
    config = ViTConfig(attn_implementation="eager", num_labels=1000, **(sizes if small else {}))
    return One(ViTForImageClassification(config), "pixel_values"), {
        "pixel_values": normal(1, 3, config.image_size, config.image_size)
    }


def vision(make, size):
    return make(weights=None), {"x": normal(1, 3, size, size)}


@model
def resnet50(small):
    from torchvision import models
    from torchvision.models.resnet import Bottleneck, ResNet

    if small:
        return ResNet(Bottleneck, [1, 1, 1, 1], num_classes=10, width_per_group=8), {"x": normal(1, 3, 32, 32)}
    return vision(models.resnet50, 224)


@model
def mobilenet_v3(small):
    from torchvision import models

    return vision(models.mobilenet_v3_small if small else models.mobilenet_v3_large, 64 if small else 224)


@model
def convnext(small):
    from torchvision import models
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    if small:
        return ConvNeXt([CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 2)]), {"x": normal(1, 3, 32, 32)}
    return vision(models.convnext_tiny, 224)


@model
def swin(small):
    from torchvision import models
    from torchvision.models.swin_transformer import SwinTransformer

    if small:
        return SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4]), {"x": normal(1, 3, 32, 32)}
    return vision(models.swin_t, 224)


@model
def whisper_encoder(small):
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    sizes = dict(d_model=96, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=384, max_source_positions=64)
    # The sizes of whisper-base, for ten seconds of sound.
    base = dict(d_model=512, encoder_layers=6, encoder_attention_heads=8, encoder_ffn_dim=2048, max_source_positions=500)
    config = WhisperConfig(attn_implementation="eager", **(sizes if small else base))
    return One(WhisperEncoder(config), "input_features"), {
        "input_features": normal(1, config.num_mel_bins, 2 * config.max_source_positions)
    }


@model
def clip_text(small):
    from transformers import CLIPTextConfig, CLIPTextModel

    sizes = dict(hidden_size=96, num_hidden_layers=2, num_attention_heads=4, intermediate_size=384, vocab_size=512)
    config = CLIPTextConfig(attn_implementation="eager", **(sizes if small else {}))
    return language(CLIPTextModel, config, config.vocab_size, length=77, use_cache=None)


@model
def mamba(small):
    from transformers import MambaConfig, MambaForCausalLM

    # The sizes of mamba-130m, with fewer layers and tokens, as the scan is written out token by token.
    sizes = dict(hidden_size=96, num_hidden_layers=2, vocab_size=512)
    config = MambaConfig(**(sizes if small else dict(hidden_size=768, num_hidden_layers=4)))
    return language(MambaForCausalLM, config, config.vocab_size, length=16)


def with_statistics(model):
    """Statistics of batch norms that are not the trivial ones."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.1)
            if name.endswith("running_var"):
                buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
    return model.eval()


def write(name, folder, small, form):
    torch.manual_seed(0)
    network, inputs = MODELS[name](small)
    network = with_statistics(network)
    args = tuple(draw(1) for draw in inputs.values())
    path = folder / f"{name}.{form}"
    if form == "pt2":
        torch.export.save(torch.export.export(network, args).run_decompositions({}), path)
    else:
        program = torch.onnx.export(network, args, input_names=list(inputs), dynamo=True, optimize=True, verbose=False)
        program.save(path, external_data=False)
    samples = {f"arg{n}": np.stack([draw(10 + i).numpy() for i in range(4)]) for n, draw in enumerate(inputs.values())}
    np.savez(folder / f"{name}.npz", **samples)
    print(f"{name} {path.stat().st_size / 1e6:.0f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=list(MODELS))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--format", choices=("onnx", "pt2"), default="onnx")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        if name not in MODELS:
            sys.exit(f"there is no model '{name}'; there are {', '.join(MODELS)}")
        write(name, options.folder, options.small, options.format)


if __name__ == "__main__":
    main()
