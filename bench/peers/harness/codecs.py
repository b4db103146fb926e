"""Which codecs take part."""

import json
from dataclasses import dataclass

from . import children, programs
from .toolchains import CACHE, PEERS


@dataclass
class Codec:
    """A program that takes the object's kind and the number of children, and prints one JSON line."""

    name: str
    peer: str
    command: object
    version: str
    benches: tuple = ("codec",)

    def measure(self, bench, params, timeout_s, threads):
        lines = children.run([*self.command(), self.name, params["object"], str(params["children"])], timeout_s)
        return programs.Measurement(self.version, params, json.loads(lines[-1])["metrics"])


@dataclass
class OurCodec:
    """`whimbrel bench codec`: some figures are for shared texts, some for texts of each object's own."""

    name: str
    command: list
    suffix: str
    benches: tuple = ("codec",)

    def measure(self, bench, params, timeout_s, threads):
        program = programs.Program(self.name, "", self.command, self.benches, ["--json"])
        measured = program.measure(bench, params, timeout_s, threads)
        figures = measured.metrics
        metrics = {"bytes": figures["bytes"], "encode_us": figures[f"encode{self.suffix}_us"],
                   "decode_us": figures[f"decode{self.suffix}_us"]}
        if not self.suffix:
            metrics |= {name: figures[name] for name in ("view_us", "warm_bytes", "message_overhead_bytes", "message_us")}
        return programs.Measurement(measured.version, params, metrics)


def peers():
    def java():
        classpath = f"{CACHE / 'codec-java' / 'codec-peer.jar'}:{CACHE / 'codec-java' / 'lib'}/*"
        return [programs.find_java(), "-Xmx4g", "-XX:+UseSerialGC", "-cp", classpath, "CodecPeer"]

    def rust():
        return [str(CACHE / "codec-rust" / "release" / "codec-peer")]

    poms, lock = PEERS / "codec" / "java" / "pom.xml", PEERS / "codec" / "rust" / "Cargo.lock"
    artifacts = {"jadex": ("Jadex Binary", "jadex-serialization-binary"),
                 "jadex-xml": ("Jadex XML", "jadex-serialization-xml"), "jade-sl": ("FIPA-SL of JADE", "jade"),
                 "kryo": ("Kryo", "kryo"), "fory": ("Fory (Java)", "fory-core")}
    crates = {"bitcode": "bitcode", "protobuf": "prost", "messagepack": "rmp-serde", "cbor": "ciborium", "rkyv": "rkyv"}
    return [
        Codec("java", "codec-java", java, "Java serialization"),
        *(Codec(name, "codec-java", java, f"{title} {programs.pom(poms, artifact)}")
          for name, (title, artifact) in artifacts.items()),
        *(Codec(name, "codec-rust", rust, f"{crate} {programs.locked(lock, crate)}") for name, crate in crates.items()),
    ]
