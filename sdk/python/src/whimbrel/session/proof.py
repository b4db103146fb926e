"""Proof of a certificate's key over WebSocket, where the client shows no certificate by TLS."""

from __future__ import annotations

import importlib
from typing import Any

from ..acl.errors import WhimbrelError
from .address import Address
from .driver import Sign

__all__ = ["signer"]


def signer(address: Address, pem: bytes) -> Sign:
    """Returns the function that signs a node's challenge with a private key (Ed25519, or ECDSA with P-256).

    Raises WhimbrelError without the package `cryptography`, or if the PEM holds no such key.
    """
    try:
        serialization: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    except ImportError:
        raise WhimbrelError(
            "a certificate over WebSocket needs the package cryptography: pip install cryptography, or use tls://"
        ) from None
    try:
        key: Any = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError) as error:
        raise WhimbrelError(f"cannot read the private key: {error}") from None

    async def sign(challenge: str, place: str | None) -> bytes:
        text = f"whimbrel session\n{address.at(place).place.lower()}\n{challenge}".encode()
        return _signature(key, text)

    return sign


def _signature(key: Any, text: bytes) -> bytes:
    hashes: Any = importlib.import_module("cryptography.hazmat.primitives.hashes")
    asymmetric = "cryptography.hazmat.primitives.asymmetric"
    ec: Any = importlib.import_module(f"{asymmetric}.ec")
    ed25519: Any = importlib.import_module(f"{asymmetric}.ed25519")
    utils: Any = importlib.import_module(f"{asymmetric}.utils")
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return bytes(key.sign(text))
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise WhimbrelError("cannot sign with this key: use Ed25519, or ECDSA with P-256")
    r, s = utils.decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA256())))
    return int(r).to_bytes(32, "big") + int(s).to_bytes(32, "big")
