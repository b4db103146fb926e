"""Encrypted connections and certificates, with a real authority and a real node."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Iterator

import pytest
from society import TOKEN, WHIMBREL, Society, asynchronous, needs_node

from whimbrel import RefusedError, SessionError, WhimbrelError, connect

pytestmark = needs_node


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Credentials of a node, of its client bob, and of a bob of another authority."""
    made = tmp_path_factory.mktemp("authority")
    environment = {**os.environ, "WHIMBREL_CA_PASSPHRASE": "open sesame"}
    for arguments in (
        ("init", "authority"),
        ("issue", "authority", "n1", "--out", "n1"),
        ("issue", "authority", "bob", "--session", "--out", "bob"),
        ("init", "other"),
        ("issue", "other", "bob", "--session", "--out", "eve"),
    ):
        subprocess.run([WHIMBREL, "ca", *arguments], cwd=made, env=environment, check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def address(folder: pathlib.Path) -> Iterator[str]:
    """Address of a node with credentials."""
    society = Society({"fern": "// Answers nothing."}, "--credentials", str(folder / "n1"))
    yield society.address.replace("tcp:", "tls:")
    society.stop()


@asynchronous
async def test_token_admits_and_node_is_verified(folder: pathlib.Path, address: str) -> None:
    async with connect(address, token=TOKEN, authority=folder / "n1/authority.pem") as platform:
        assert (await platform.start("amy")).name == "amy"
    for authority in (folder / "eve/authority.pem", None):
        with pytest.raises(SessionError, match="certificate"):
            await connect(address, token=TOKEN, authority=authority, patience=0.3)


@asynchronous
async def test_certificate_admits_its_agent_only(folder: pathlib.Path, address: str) -> None:
    authority, bob, eve = folder / "bob/authority.pem", folder / "bob", folder / "eve"
    async with connect(
        address, authority=authority, certificate=bob / "session.pem", key=bob / "session.key"
    ) as platform:
        assert (await platform.start("bob")).name == "bob"
        with pytest.raises(RefusedError, match=r"not-allowed.*ask the node's operator"):
            await platform.start("amy")
    with pytest.raises(SessionError):
        await connect(
            address, authority=authority, certificate=eve / "session.pem", key=eve / "session.key", patience=0.3
        )


@asynchronous
async def test_wrong_key_says_what_is_wrong(folder: pathlib.Path) -> None:
    with pytest.raises(WhimbrelError, match=r"cryptography|private key"):
        await connect("wss://127.0.0.1:1", certificate=folder / "bob/session.pem", key=folder / "bob/session.pem")
