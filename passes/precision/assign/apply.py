"""Applies an assignment of formats that `ngc-opt --assign-precision` made, op by op, to the exported program that it was made for.

    import torch, formats
    program = torch.export.load("model.pt2")
    model = formats.apply(program)          # a torch.nn.Module

or, on the command line, `python formats.py model.pt2 mixed.pt2`, which writes the program with the casts.
"""

import json
import operator
import sys
import warnings

import torch

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


def apply(program):
    """The program as a module whose ops compute in the formats of CONFIG; arguments and results keep their types."""
    config = json.loads(CONFIG)
    formats = {name.rpartition("/")[2]: TYPES[own] for name, own in config["formats"].items()}
    if config["sums"]:
        warnings.warn("PyTorch sums in an order of its own, so the bound does not hold here: assign with --runtime=torch")
    module = program.module()
    graph = module.graph
    missing = set(formats) - {node.name for node in graph.nodes}
    if missing:
        raise ValueError(f"the program has no ops called {', '.join(sorted(missing)[:5])}: it is another one")

    def given(node):
        value = node.meta.get("val")
        # Of several results the first is the one that has a format.
        value = value[0] if isinstance(value, (tuple, list)) and value else value
        return value.dtype if isinstance(value, torch.Tensor) and value.dtype.is_floating_point else None

    stored = {node: given(node) for node in graph.nodes}
    casts = {}

    def cast(node, own):
        if stored.get(node) in (None, own):
            return node
        if (node, own) not in casts:
            with graph.inserting_after(node):
                casts[node, own] = graph.call_function(torch.ops.aten.to.dtype, (node, own))
        return casts[node, own]

    def in_format(node, own):
        """Sets what a call says of the type of its result."""
        schema = getattr(node.target, "_schema", None)
        for n, argument in enumerate(schema.arguments if schema else ()):
            if argument.name == "dtype" and n < len(node.args) and node.args[n] is not None:
                node.args = (*node.args[:n], own, *node.args[n + 1 :])
        if node.kwargs.get("dtype") is not None:
            node.kwargs = {**node.kwargs, "dtype": own}

    for node in list(graph.nodes):
        if node.op in ("placeholder", "get_attr"):
            continue
        if node.target is operator.getitem:
            stored[node] = stored[node.args[0]] if given(node) else None
            continue
        if node.op == "output":
            node.args = torch.fx.map_arg(node.args, lambda v: cast(v, given(v)))
            continue
        own = formats.get(node.name)
        if own is None or given(node) is None:
            # What takes no format reads its operands as they were.
            wanted = given
        else:
            stored[node] = own
            wanted = lambda v: own
            in_format(node, own)
            if node.target in (torch.ops.aten.to.dtype, torch.ops.aten._to_copy.default):
                wanted = lambda v: stored.get(v)
        node.args = torch.fx.map_arg(node.args, lambda v: cast(v, wanted(v)))
        node.kwargs = torch.fx.map_arg(node.kwargs, lambda v: cast(v, wanted(v)))
    graph.lint()
    module.recompile()
    return module


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program = torch.export.load(sys.argv[1])
    inputs = program.example_inputs
    if inputs is None:
        sys.exit("the program holds no example inputs, which torch.export needs: use apply() instead")
    torch.export.save(torch.export.export(apply(program), *inputs), sys.argv[2])
