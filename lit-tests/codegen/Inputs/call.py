"""Calls the only kernel of a shared library on one row."""

import ctypes
import json
import sys

library = ctypes.CDLL(sys.argv[1])
with open(sys.argv[2]) as file:
    (kernel,) = json.load(file)["functions"]
(x,), (y,) = kernel["arguments"], kernel["results"]
print(f"{kernel['name']}({x['name']}: {x['format']} {x['shape']}) -> {y['name']}")
row = ctypes.c_float * 3
extent = ctypes.c_int64
size_of = getattr(library, kernel["workspace_size"])
size_of.restype = extent
size = size_of(extent(1))
workspace = ctypes.create_string_buffer(size)
result = row()
call = getattr(library, kernel["name"])
status = call(row(1, 2, 3), extent(1), result, extent(1), workspace, extent(size))
print(status, [float(f"{value:.8g}") for value in result])
