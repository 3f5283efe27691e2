"""The smallest picture and the smallest sound that a model may be asked about. Pure."""

from __future__ import annotations

_SIDE = 224  # pixels: no vision encoder refuses so many
_RATE = 16_000  # samples a second


def red_square() -> bytes:
    """A PNG file of one colour."""
    from struct import pack
    from zlib import compress, crc32

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))

    row = b"\0" + b"\xd0\x10\x10" * _SIDE
    header = pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", compress(row * _SIDE)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def second_of_silence() -> bytes:
    """A WAV file with nothing to be heard."""
    from struct import pack

    data = bytes(2 * _RATE)
    form = pack("<HHIIHH", 1, 1, _RATE, 2 * _RATE, 2, 16)
    head = b"WAVEfmt " + pack("<I", len(form)) + form + b"data" + pack("<I", len(data))
    return b"RIFF" + pack("<I", len(head) + len(data)) + head + data
