"""Agent `pia` in plain Python: says hello to ada, and to whom ada names. Usage: hello.py [HOST:PORT]"""
import json, os, socket, sys

host, port = (sys.argv[1:] or ["127.0.0.1:7002"])[0].rsplit(":", 1)
node = socket.create_connection((host, int(port)))
number, greeted, heard = 0, set(), 0

def write(frame):  # A frame is JSON after its length in four bytes.
    data = json.dumps(frame).encode()
    node.sendall(len(data).to_bytes(4, "big") + data)

def read():
    length = int.from_bytes(node.recv(4, socket.MSG_WAITALL), "big")
    return json.loads(node.recv(length, socket.MSG_WAITALL))

def numbered(**frame):
    global number
    number += 1
    write({**frame, "number": number})

def say_hello(who):
    greeted.add(who)
    content = {"term": "hello", "args": ["Python"]}
    numbered(type="message", agent=0, message={"performative": "inform", "receivers": [who], "content": content})

write({"type": "hello", "versions": [1], "token": os.environ.get("TOKEN", "open-sesame"), "lease_ms": 600_000})
numbered(type="create", agent=0, name="pia")
say_hello("ada")
while heard < 2:
    frame = read()
    if "number" in frame:
        write({"type": "ack", "received": frame["number"]})  # It counts as handled.
    if frame["type"] in ("error", "refused"):
        sys.exit(frame["text"])
    if frame["type"] == "message":
        content = frame["message"]["content"]
        if content["term"] == "meet":
            say_hello(content["args"][0]["atom"])
        else:
            who, heard = frame["message"]["sender"].split("@")[0], heard + 1
            print(f"[pia] {who} speaks {content['args'][0]}", flush=True)
            if who not in greeted:
                say_hello(who)
write({"type": "bye"})
