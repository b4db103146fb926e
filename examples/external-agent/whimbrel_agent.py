"""An agent of a Whimbrel platform in plain Python: the session protocol (docs/design/session-protocol.md) in JSON."""
import json, socket, ssl, time


class Agent:
    def __init__(self, name, address, token, authority=None, certificate=None, lease_ms=10_000):
        self.address, self.token, self.lease_ms = address, token, lease_ms
        self.tls = authority and ssl.create_default_context(cafile=authority)
        if certificate:  # The files of a certificate and its key, instead of a token.
            self.tls.load_cert_chain(*certificate)
        self.session, self.number, self.received, self.unacknowledged = None, 0, 0, []
        self.connect()
        self.numbered(type="create", agent=0, name=name)

    def connect(self):  # As often as it takes. A session whose connection broke goes on where it was.
        while True:
            try:
                plain, self.buffer = socket.create_connection(self.address, timeout=self.lease_ms / 3000), b""
                self.socket = self.tls.wrap_socket(plain, server_hostname="node.whimbrel") if self.tls else plain
                resume = self.session and {key: self.session[key] for key in ("session", "secret")}
                self.write({"type": "hello", "versions": [1], "token": self.token, "lease_ms": self.lease_ms,
                            "resume": resume and {**resume, "received": self.received}})
                self.session = self.read()
                return [self.write(frame) for frame in self.unacknowledged]
            except OSError:
                time.sleep(0.2)

    def write(self, frame):
        data = json.dumps(frame).encode()
        try:
            self.socket.sendall(len(data).to_bytes(4, "big") + data)
        except OSError:
            self.socket.close()  # Whoever reads next finds that out, and connects again.

    def read(self):
        while len(self.buffer) < 4 or len(self.buffer) < 4 + int.from_bytes(self.buffer[:4], "big"):
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("the node closed the connection")
            self.buffer += more
        end = 4 + int.from_bytes(self.buffer[:4], "big")
        frame, self.buffer = json.loads(self.buffer[4:end]), self.buffer[end:]
        if frame["type"] in ("error", "refused"):
            raise RuntimeError(f"{frame['code']}: {frame['text']}")
        if frame["type"] in ("welcome", "ack"):  # What the node has need not be kept.
            self.unacknowledged = [kept for kept in self.unacknowledged if kept["number"] > frame["received"]]
        self.received = frame.get("number", self.received)
        return frame

    def numbered(self, **frame):  # What must not be lost is kept until the node has it.
        self.number += 1
        self.unacknowledged.append({**frame, "number": self.number})
        self.write(self.unacknowledged[-1])

    def send(self, performative, receiver, content, **more):
        message = {"performative": performative, "receivers": [receiver], "content": content, **more}
        self.numbered(type="message", agent=0, message=message)

    def reply(self, message, performative, content):
        quotes = {"conversation_id": message.get("conversation_id"), "in_reply_to": message.get("reply_with")}
        self.send(performative, message["sender"], content, **{key: text for key, text in quotes.items() if text})

    def messages(self):  # Those for this agent, as they come, until it ends. In between, signs of life.
        frame = {"type": "none"}
        while frame["type"] != "ended":
            try:
                frame = self.read()
                if frame["type"] == "message":
                    yield frame["message"]
            except TimeoutError:
                pass
            except OSError:
                self.connect()
            self.write({"type": "ack", "received": self.received})
