"""Pictures for tests, made without a library."""

import struct
import zlib


def png(width, height, alpha=None, level=200):
    """An RGB or RGBA picture of one colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    pixel = bytes([level, 10, 20]) + (b"" if alpha is None else bytes([alpha]))
    rows = (b"\0" + pixel * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if alpha is None else 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
