#!/usr/bin/env python3
"""Writes the first inputs of a fuzz target to fuzz/corpus/TARGET, from the files of lit-tests and testdata.

A PyTorch program becomes one input a node: a program of that node alone, with the tensors that it mentions.
"""

import hashlib
import json
import pathlib
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_BYTES = 6000
SUFFIXES = {
    "ngir": [".ngir"],
    "laws": [".ngr"],
    "impl": [".impl"],
    "fpcore": [".fpcore"],
    "stablehlo": [".mlir"],
    "onnx": [".onnx"],
    "npy": [".npy"],
    "npz": [".npz"],
    "safetensors": [".safetensors"],
    "tensor_pb": [".pb"],
}
PIPELINES = ["canonicalize,cse", "builtin.module(func.func(dce),inline)", "stabilize{rule-set=roots target=x}"]


def files(suffixes):
    for folder in ["lit-tests", "testdata", "src/reals/rules", "src/math/library"]:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes and path.stat().st_size <= MOST_BYTES:
                yield path.read_bytes()
    if ".fpcore" in suffixes:
        formulas = ROOT / "testdata/formulas.tsv"
        for line in formulas.read_text().splitlines() if formulas.exists() else []:
            yield from (field.encode() for field in line.split("\t") if field.startswith("(FPCore"))


def operators():
    """The models of one operator each, which are arrays of bytes."""
    archive = zipfile.ZipFile(ROOT / "testdata/operators.npz")
    for name in archive.namelist():
        if name.endswith("/model.npy"):
            array = archive.read(name)
            yield array[10 + int.from_bytes(array[8:10], "little") :]


def mentioned(tree):
    """Names of tensors and symbols anywhere in a part of a program."""
    if isinstance(tree, dict):
        if isinstance(tree.get("name"), str):
            yield tree["name"]
        if isinstance(tree.get("as_name"), str):
            yield tree["as_name"]
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from mentioned(part)


def programs(path):
    archive = zipfile.ZipFile(path)
    model = next(n for n in archive.namelist() if n.endswith("models/model.json"))
    program = json.loads(archive.read(model))
    graph = program["graph_module"]["graph"]
    values = graph["tensor_values"]
    for node in graph["nodes"]:
        node["metadata"] = {}
        outputs = {n for n in mentioned(node["outputs"]) if n in values}
        used = sorted({n for n in mentioned(node["inputs"]) if n in values} - outputs)
        one = dict(graph)
        one["nodes"] = [node]
        one["inputs"] = [{"as_tensor": {"name": n}} for n in used]
        one["outputs"] = [{"as_tensor": {"name": n}} for n in sorted(outputs)]
        one["tensor_values"] = {n: values[n] for n in [*used, *sorted(outputs)]}
        module = dict(program["graph_module"], graph=one)
        specs = [{"user_input": {"arg": argument}} for argument in one["inputs"]]
        results = [{"user_output": {"arg": argument}} for argument in one["outputs"]]
        module["signature"] = {"input_specs": specs, "output_specs": results}
        module["module_call_graph"] = []
        whole = dict(program, graph_module=module)
        whole.pop("guards_code", None)
        yield json.dumps(whole, separators=(",", ":")).encode() + b'\0{"config":{}}'


def seeds(target):
    if target == "pipeline":
        return [p.encode() for p in PIPELINES]
    if target == "pt2":
        found = [p for path in sorted(ROOT.glob("testdata/**/*.pt2")) for p in programs(path)]
        return [p for p in found if len(p) <= MOST_BYTES]
    found = list(files(SUFFIXES[target]))
    return found + list(operators()) if target == "onnx" else found


def main():
    target = sys.argv[1]
    folder = ROOT / "fuzz/corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds(target):
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


if __name__ == "__main__":
    main()
