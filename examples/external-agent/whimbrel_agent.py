"""An agent of a Whimbrel platform in plain Python: the session protocol (docs/design/session-protocol.md) in JSON."""
import collections, json, socket, ssl, sys, time

# After these errors the session cannot be resumed; after any other `error` the client connects again.
OVER = ("unauthorised", "session-gone", "lease-over", "stopping", "version", "busy", "taken-over", "protocol")


class Agent:
    def __init__(self, name, address, token, authority=None, certificate=None, lease_ms=10_000):
        self.address, self.token, self.lease_ms = address, token, lease_ms
        self.tls = authority and ssl.create_default_context(cafile=authority)
        if certificate:  # The files of a certificate and its key, instead of a token.
            self.tls.load_cert_chain(*certificate)
        self.session, self.number, self.taken, self.unacknowledged = None, 0, 0, []
        self.credit, self.written, self.handled, self.came = 0, 0, 0, collections.deque()
        self.connect()
        self.numbered(type="create", agent=0, name=name)

    def connect(self):  # As often as it takes. A session whose connection broke goes on where it was.
        while True:
            try:
                plain, self.buffer = socket.create_connection(self.address, timeout=self.lease_ms / 3000), b""
                self.socket = self.tls.wrap_socket(plain, server_hostname="node.whimbrel") if self.tls else plain
                self.came.clear()  # What is not handled comes again: a hello acknowledges, as `ack` does.
                resume = self.session and {key: self.session[key] for key in ("session", "secret")}
                self.write({"type": "hello", "versions": [1], "token": self.token, "lease_ms": self.lease_ms,
                            "resume": resume and {**resume, "received": self.handled}})
                self.written = self.number  # Nothing is written again before the welcome says what the node has.
                self.session = self.next_frame()
                self.written = self.session["received"]
                return self.flush()
            except OSError:
                time.sleep(0.2)

    def write(self, frame):
        data = json.dumps(frame).encode()
        try:
            self.socket.sendall(len(data).to_bytes(4, "big") + data)
        except OSError:
            self.socket.close()  # Whoever reads next finds that out, and connects again.

    def next_frame(self):
        while len(self.buffer) < 4 or len(self.buffer) < 4 + int.from_bytes(self.buffer[:4], "big"):
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("the node closed the connection")
            self.buffer += more
        end = 4 + int.from_bytes(self.buffer[:4], "big")
        frame, self.buffer = json.loads(self.buffer[4:end]), self.buffer[end:]
        if frame["type"] == "error":  # The node closes the connection.
            raise (RuntimeError if frame["code"] in OVER else ConnectionError)(f"{frame['code']}: {frame['text']}")
        if frame["type"] in ("welcome", "ack"):  # What the node has need not be kept. `credit`: up to where more may be sent.
            self.unacknowledged = [kept for kept in self.unacknowledged if kept["number"] > frame["received"]]
            self.credit = frame["credit"]
            self.flush()
        # A frame that was received before came again over another connection: skip it.
        return frame if frame.get("number", self.taken + 1) > self.taken else self.next_frame()

    def read(self):  # The next frame; a refusal is an exception.
        frame = self.came.popleft() if self.came else self.next_frame()
        self.taken = self.handled = frame.get("number", self.handled)
        if frame["type"] == "refused":
            raise RuntimeError(f"{frame['code']}: {frame['text']}")
        return frame

    def flush(self):  # Writes what is not written yet, as far as the credit goes.
        for frame in self.unacknowledged:
            if self.written < frame["number"] <= self.credit:
                self.written = frame["number"]
                self.write(frame)

    def numbered(self, **frame):  # What must not be lost is kept until the node has it.
        self.number += 1
        self.unacknowledged.append({**frame, "number": self.number})
        self.flush()
        while self.written < self.number:  # Without credit it waits, and keeps what comes meanwhile.
            self.wait(lambda: self.came.append(self.next_frame()))
            self.acknowledge()

    def acknowledge(self):  # What is handled; what is not comes back to its sender if this program ends.
        self.write({"type": "ack", "received": self.handled})

    def wait(self, what):  # Signs of life, and another connection if this one breaks.
        try:
            return what()
        except TimeoutError:
            self.acknowledge()
        except OSError:
            self.connect()

    def send(self, performative, receiver, content, **more):
        message = {"performative": performative, "receivers": [receiver], "content": content, **more}
        self.numbered(type="message", agent=0, message=message)

    def reply(self, message, performative, content):
        quotes = {"conversation_id": message.get("conversation_id"), "in_reply_to": message.get("reply_with")}
        self.send(performative, message["sender"], content, **{key: text for key, text in quotes.items() if text})

    def messages(self):  # Those for this agent, as they come, until it ends. In between, signs of life.
        frame = {"type": "none"}
        while frame["type"] != "ended":
            frame = self.came.popleft() if self.came else self.wait(self.next_frame) or {"type": "none"}
            self.taken = frame.get("number", self.taken)
            if frame["type"] == "message":
                yield frame["message"]
            elif frame["type"] == "refused" and frame["of"] == 1:  # There is no such agent.
                raise RuntimeError(f"{frame['code']}: {frame['text']}")
            elif frame["type"] == "refused":  # The frame of that number had no effect; of 0: a message was too long for this client.
                print(f"refused {frame['of']}: {frame['code']}: {frame['text']}", file=sys.stderr)
            self.handled = frame.get("number", self.handled)
            self.acknowledge()
