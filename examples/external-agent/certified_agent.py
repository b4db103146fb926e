"""Agent with a key of its own, which never leaves this machine, and which its node certifies.

Usage: certified_agent.py HOST:PORT AUTHORITY.pem FOLDER, the token in WHIMBREL_AGENT_TOKEN; needs the program openssl."""
import os, subprocess, sys

from whimbrel_agent import Agent


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True)


(host, port), authority, folder = sys.argv[1].rsplit(":", 1), sys.argv[2], sys.argv[3]
key, request, certificate = (os.path.join(folder, f"witness.{end}") for end in ("key", "csr", "pem"))
witness = Agent("witness", (host, int(port)), os.environ["WHIMBREL_AGENT_TOKEN"], authority)
openssl("genpkey", "-algorithm", "ed25519", "-out", key)
openssl("req", "-new", "-key", key, "-subj", "/CN=witness", "-out", request)
with open(request) as file:
    witness.numbered(type="certify", agent=0, request=file.read())
frame = witness.read()
while frame["type"] != "certified":  # A node that cannot, or does not want to, refuses: that is an exception.
    frame = witness.read()
with open(certificate, "w") as file:
    file.write(frame["certificates"])  # Its own, then that of its node for agents. Good for an hour: ask again before.
openssl("verify", "-CAfile", authority, "-untrusted", certificate, certificate)
openssl("x509", "-in", certificate, "-noout", "-ext", "subjectAltName")
witness.write({"type": "bye"})
