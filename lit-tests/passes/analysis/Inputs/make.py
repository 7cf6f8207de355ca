"""Writes the .npz files of the tests of --calibrate; needs only Python's standard library."""

import math
import os
import struct
import zipfile

CODES = {"<f4": "f", "<f8": "d", "<i8": "q"}


def npy(descr, shape, values):
    header = repr({"descr": descr, "fortran_order": False, "shape": shape})
    header = header.encode().ljust(117) + b"\n"
    assert len(values) == math.prod(shape)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}{CODES[descr]}", *values)


def npz(name, **arrays):
    path = os.path.join(os.path.dirname(__file__), name + ".npz")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(key + ".npy"), npy(*array))


x = [0.5, -1.0, 2.0, 1.5, 0.25, -0.75, 3.0, -2.0, 1.0, 0.0, 1.0, -1.0]
npz("samples", x=("<f4", (4, 3), x))
npz("by-position", arg0=("<f4", (4, 3), x))
npz("arr", arr_0=("<f8", (3,), x[:3]))
npz("folder/first", x=("<f4", (1, 3), x[:3]))
npz("folder/second", x=("<f4", (3, 3), x[3:]))
npz("outside", x=("<f4", (3,), [0.0, 5.0, 1.0]))
npz("empty")
npz("zero", x=("<f4", (0, 3), []))
npz("nan", x=("<f4", (3,), [0.0, math.nan, 1.0]))
npz("infinite", x=("<f4", (3,), [0.0, 1.0, math.inf]))
npz("unknown", y=("<f4", (4, 3), x))
npz("both", x=("<f4", (4, 3), x), arg0=("<f4", (4, 3), x))
npz("shape", x=("<f4", (3, 4), x))
npz("double", x=("<f8", (3,), [0.1, 0.5, 0.3]))
npz("huge", x=("<f8", (3,), [0.0, 1e300, 1.0]))
npz("counts", x=("<f4", (4, 3), x), n=("<i8", (3, 3), list(range(9))))
npz("missing", x=("<f4", (4, 3), x))
npz("fraction", x=("<f4", (4, 3), x), n=("<f8", (3,), [1.0, 2.0, 3.0]))
npz("wide", x=("<f4", (4, 3), x), n=("<i8", (3,), [1, 1 << 40, 3]))
npz("mixed", x=("<f4", (4, 3), x), n=("<i8", (3,), [1, 2, 3]))
npz("digits", x=("<f4", (5, 64), [float(n * n % 17) for n in range(5 * 64)]))
npz("roots", x=("<f8", (64,), [1e6 * (1.0 + 0.37 * n) for n in range(64)]))
