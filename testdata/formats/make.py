#!/usr/bin/env python3
"""Makes testdata/formats/digests.tsv: digests of the operations and conversions of the narrow formats, as ml_dtypes and
NumPy compute them.

A line is OPERATION, FORMAT, BLOCK and the first 16 hexadecimal digits of the SHA-256 of the results of that block, one
little-endian encoding after the other, every NaN as 0x7f, 0x7e, 0x7e00 or 0x7fc0. Blocks are:

- add, sub, mul, div of 8-bit formats: the left operand; the right one runs through all 256 encodings;
- sqrt and conversions `from_F`: 4096 operands each, through all encodings of F;
- from_f32: the upper half runs through all values, the lower one through LOWER, the lower one fastest.

ml_dtypes computes in f32 and rounds once more. That is innocuous for + - * / sqrt: 24 >= 2 p + 2 for the p <= 11 bits of
these formats (S. Figueroa, When is double rounding innocuous?, 1995). Needs numpy and ml_dtypes.
"""

import hashlib
import pathlib

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).parent
FORMATS = {
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, np.uint8, 0x7F),
    "f8E5M2": (ml_dtypes.float8_e5m2, np.uint8, 0x7E),
    "f16": (np.float16, np.uint16, 0x7E00),
    "bf16": (ml_dtypes.bfloat16, np.uint16, 0x7FC0),
}
# Around the midpoints of 16-bit formats, and what sticks below those of 8 bits.
LOWER = np.array([0x0000, 0x0001, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xF000, 0xFFFF], np.uint32)


def all_of(name):
    dtype, bits, _ = FORMATS[name]
    return np.arange(2 ** (8 * np.dtype(bits).itemsize), dtype=np.uint32).astype(bits).view(dtype)


def digests(operation, name, results, block):
    _, bits, nan = FORMATS[name]
    encoded = results.view(bits).copy()
    encoded[np.isnan(results.astype(np.float32))] = nan
    data = encoded.astype(np.dtype(bits).newbyteorder("<")).tobytes()
    size = block * np.dtype(bits).itemsize
    for i in range(0, len(data), size):
        digest = hashlib.sha256(data[i : i + size]).hexdigest()[:16]
        yield f"{operation}\t{name}\t{i // size}\t{digest}"


def lines():
    binary = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    for name in ["f8E4M3FN", "f8E5M2"]:
        x = all_of(name)
        for operation, of in binary.items():
            yield from digests(operation, name, of(x[:, None], x[None, :]).ravel(), 256)
    upper = np.arange(2**16, dtype=np.uint32) << 16
    f32 = (upper[:, None] | LOWER[None, :]).ravel().view(np.float32)
    for name, (dtype, _, _) in FORMATS.items():
        yield from digests("sqrt", name, np.sqrt(all_of(name)), 4096)
        for source in FORMATS:
            # From one narrow format to another by way of f32, which holds them all.
            if source != name:
                yield from digests(f"from_{source}", name, all_of(source).astype(np.float32).astype(dtype), 4096)
        yield from digests("from_f32", name, f32.astype(dtype), 65536)


with np.errstate(all="ignore"):
    (HERE / "digests.tsv").write_text("\n".join(lines()) + "\n")
