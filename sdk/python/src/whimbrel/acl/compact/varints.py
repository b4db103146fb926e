"""Numbers in bytes: prefix varints. The number of low zero bits in the first byte counts the bytes that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MASK_64 = (1 << 64) - 1


def write_number(out: bytearray, n: int) -> None:
    """Appends a varint: an integer from 0 to 2^64 - 1."""
    if n < 128:
        out.append(n << 1 | 1)
        return
    bits = n.bit_length()
    if bits > 56:
        out.append(0)
        out += n.to_bytes(8, "little")
    else:
        length = (bits + 6) // 7
        out += ((n << length) | (1 << (length - 1))).to_bytes(length, "little")


def number_length(n: int) -> int:
    """Returns the length of a varint, 1 to 9."""
    return 1 if n < 128 else 9 if n >= 1 << 56 else (n.bit_length() + 6) // 7


def fold(n: int) -> int:
    """Maps small magnitudes to small numbers: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return n << 1 if n >= 0 else (-n << 1) - 1


def unfold(n: int) -> int:
    """Reverses `fold`."""
    return -((n + 1) >> 1) if n & 1 else n >> 1


def write_signed(out: bytearray, n: int) -> None:
    """Appends a folded varint."""
    write_number(out, fold(n))


def signed_length(n: int) -> int:
    """Returns the length of a folded varint."""
    return number_length(fold(n))


def wrap(n: int) -> int:
    """Wraps an integer to 64 bits with a sign."""
    n &= MASK_64
    return n - (1 << 64) if n >> 63 else n


def write_text(out: bytearray, text: str) -> None:
    """Appends a length and text."""
    data = utf8(text)
    write_number(out, len(data))
    out += data


def utf8(text: str) -> bytes:
    """Returns text as UTF-8. Lone surrogates become the replacement character, because they are not text."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def pack_bits(out: bytearray, values: Sequence[int], width: int) -> None:
    """Packs numbers of `width` bits without gaps, lowest bit first."""
    if width == 0 or not values:
        return
    if width == 8:
        out += bytes(values)
        return
    word = 0
    for value in reversed(values):
        word = word << width | value
    out += word.to_bytes(packed_length(len(values), width), "little")


def unpack_bits(packed: bytes, count: int, width: int) -> list[int]:
    """Unpacks `count` numbers of `width` bits."""
    if width == 0:
        return [0] * count
    if width == 8:
        return list(packed[:count])
    mask = (1 << width) - 1
    values: list[int] = []
    # Shifting one number of many bits takes quadratic time: eight numbers always take whole bytes.
    for start in range(0, count, 8):
        at = start // 8 * width
        word = int.from_bytes(packed[at : at + width], "little")
        for _ in range(min(8, count - start)):
            values.append(word & mask)
            word >>= width
    return values


def packed_length(count: int, width: int) -> int:
    """Returns the bytes of `count` packed numbers of `width` bits."""
    return (count * width + 7) // 8


def pack_bools(out: bytearray, values: Iterable[bool]) -> None:
    """Packs booleans, one bit each."""
    pack_bits(out, [int(value) for value in values], 1)


def ends_clean(packed: bytes, bits: int) -> bool:
    """Returns true if the bits beyond the first `bits` are zero."""
    return bits % 8 == 0 or packed[-1] >> bits % 8 == 0
