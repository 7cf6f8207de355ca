#!/usr/bin/env python3
"""Makes testdata/tensors: small arrays as NumPy, ml_dtypes and onnx write them.

Needs numpy, ml_dtypes and onnx. The files are kept in the repository; run this again only to add some.
"""

import io
import pathlib
import zipfile

import ml_dtypes
import numpy as np
import onnx
from numpy.lib import format as npy

HERE = pathlib.Path(__file__).parent / "tensors"
RAMP = np.arange(-2, 4).reshape(2, 3)


def save(name, array, version=None, fortran=False):
    array = np.asfortranarray(array) if fortran else array
    with open(HERE / f"{name}.npy", "wb") as f:
        npy.write_array(f, array, version=version)


def arrays():
    for name, dtype in [("f2_le", "<f2"), ("f4_le", "<f4"), ("f4_be", ">f4"), ("f8_be", ">f8"), ("i1", "i1"),
                        ("i2_be", ">i2"), ("i4", "<i4")]:
        save(name, RAMP.astype(dtype))
    save("f8_fortran", RAMP.astype("<f8"), fortran=True)
    save("i8_fortran_be", RAMP.astype(">i8"), fortran=True)
    save("f4_v2", RAMP.astype("<f4"), version=(2, 0))
    save("f4_v3", RAMP.astype("<f4"), version=(3, 0))
    save("u1", np.array([0, 1, 255], "u1"))
    save("u2_be", np.array([0, 1, 65535], ">u2"))
    save("u4", np.array([0, 1, 2**32 - 1], "<u4"))
    save("u8", np.array([0, 1, 10**15], "<u8"))
    save("u8_beyond", np.array([0, 2**64 - 1], "<u8"))
    save("b1", np.array([True, False, True]))
    save("scalar", np.array(1.5))
    save("empty", np.zeros((2, 0, 3), "<f4"))
    save("bfloat16", np.array([1, -2.5, 3.140625], ml_dtypes.bfloat16).view("V2"))
    save("float8_e4m3fn", np.array([1, -2.5, 448], ml_dtypes.float8_e4m3fn).view("V1"))
    save("complex", np.zeros(2, "<c16"))
    save("text", np.array(["abc"]))
    save("structured", np.zeros(2, [("a", "<f4"), ("b", "<i4")]))
    save("object", np.array([None], object))


def archive(name, compression, entries):
    with zipfile.ZipFile(HERE / name, "w", compression) as z:
        for entry, data in entries.items():
            # A fixed date, so that the file is the same each time.
            info = zipfile.ZipInfo(entry)
            info.compress_type = compression
            z.writestr(info, data)


def archives():
    def as_npy(array):
        f = io.BytesIO()
        npy.write_array(f, array)
        return f.getvalue()

    entries = {"x.npy": as_npy(np.arange(3.0)), "group/y.npy": as_npy(np.zeros(100, "<f4"))}
    archive("stored.npz", zipfile.ZIP_STORED, entries)
    archive("deflated.npz", zipfile.ZIP_DEFLATED, entries)
    archive("not_an_array.npz", zipfile.ZIP_DEFLATED, {"readme.txt": "hello"})


def messages():
    """TensorProto files: raw, and typed fields."""
    types = {"float": "f4", "double": "f8", "float16": "f2", "bfloat16": ml_dtypes.bfloat16,
             "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e5m2": ml_dtypes.float8_e5m2, "int8": "i1",
             "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4",
             "uint64": "u8", "bool": "?"}
    for name, dtype in types.items():
        unsigned = name.startswith("u") or name == "bool"
        array = (RAMP % 2 if unsigned else RAMP).astype(dtype)
        raw = onnx.numpy_helper.from_array(array, "t")
        assert raw.raw_data
        (HERE / f"{name}_raw.pb").write_bytes(raw.SerializeToString(deterministic=True))
        typed = onnx.helper.make_tensor("t", raw.data_type, array.shape, array.flatten().astype(array.dtype))
        assert not typed.raw_data
        (HERE / f"{name}_typed.pb").write_bytes(typed.SerializeToString(deterministic=True))
    text = onnx.helper.make_tensor("t", onnx.TensorProto.STRING, [1], [b"abc"])
    (HERE / "string.pb").write_bytes(text.SerializeToString(deterministic=True))
    packed = onnx.helper.make_tensor("t", onnx.TensorProto.INT4, [2], [1, 2])
    (HERE / "int4.pb").write_bytes(packed.SerializeToString(deterministic=True))


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    arrays()
    archives()
    messages()
