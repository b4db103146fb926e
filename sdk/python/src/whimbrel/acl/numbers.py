"""Numbers as ECMAScript writes them, which is the canonical form in JSON."""

from __future__ import annotations


def ecmascript(number: float) -> str:
    """Returns a finite double as JavaScript's `String(n)`."""
    text = repr(number)
    if "e" not in text:
        return text.removesuffix(".0")
    sign = "-" if text.startswith("-") else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).rstrip("0") or "0"
    return sign + _placed(digits, int(exponent) + 1)


def _placed(digits: str, point: int) -> str:
    """Returns `0.digits` times ten to the power of `point`."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"
