"""Writes the modules of cases.py as exported programs, NAME.pt2, with their inputs and what they are over the reals, NAME.npz.

    python testdata/modules/make.py [names]

Needs torch, numpy and gmpy2. Input set S has the arrays inS_0, inS_1, ...; set 0 is harmless, the others are hostile. The
results over the reals, truthS_0, ..., are computed by truth.py at 4200 bits from the graph of the program, and rounded
to f64.
"""

import sys
import warnings
import zipfile
from pathlib import Path

warnings.filterwarnings("ignore")
import numpy as np
import torch

import cases
import truth

HERE = Path(__file__).parent
# As the exporter names the parts of an archive, which are what a program is; the rest is for other tools.
DATE = (1980, 1, 1, 0, 0, 0)


def module(function, count):
    """A module whose forward takes so many arguments."""
    names = ", ".join(f"x{n}" for n in range(count))
    scope = {"function": function}
    exec(f"def forward(self, {names}): return function({names})", scope)
    return type("Module", (torch.nn.Module,), {"forward": scope["forward"]})()


def make(name):
    function, harmless, hostile = cases.CASES[name]
    sets = [harmless, *hostile]
    program = torch.export.export(module(function, len(sets[0])), sets[0])
    path = HERE / f"{name}.pt2"
    torch.export.save(program.run_decompositions({}), path)
    repack(path)
    core = program.run_decompositions()
    arrays = {}
    for s, inputs in enumerate(sets):
        arrays |= {f"in{s}_{n}": x.numpy() for n, x in enumerate(inputs)}
        try:
            results = truth.run(core, inputs)
        except Exception as e:
            print(f"{name}, set {s}: no truth: {type(e).__name__}: {e}")
            continue
        exact = [np.asarray(np.vectorize(float, otypes=[float])(x)) for x in results]
        arrays |= {f"truth{s}_{n}": x for n, x in enumerate(exact)}
    np.savez_compressed(HERE / f"{name}.npz", **arrays)


def repack(path):
    """Compresses an archive; its entries in order, without a date."""
    with zipfile.ZipFile(path) as archive:
        parts = [(part, archive.read(part)) for part in sorted(archive.namelist())]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, data in parts:
            if "/sample_inputs/" in part:
                continue
            archive.writestr(zipfile.ZipInfo(part, DATE), data, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    for name in sys.argv[1:] or cases.CASES:
        make(name)
