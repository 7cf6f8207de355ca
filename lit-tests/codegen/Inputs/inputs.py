"""Writes a .npy file of three rows without NumPy."""

import struct
import sys

values = [1, 2, 3, -10, 0, 10, 0.1, 0.2, 0.3]
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }"
head += b" " * (-(len(head) + 11) % 64) + b"\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<9f", *values))
