#!/usr/bin/env python3
"""Measures other codecs in turns with `whimbrel bench codec`, on the same object, and prints medians and ratios.

    bench/peers/codec/run.py                                  # needs: cargo build --release; Maven and a JDK; cargo
    bench/peers/codec/run.py --children 10000 --object varied --rounds 5 --only java,bitcode
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from harness import toolchains  # noqa: E402

ROOT = HERE.parents[2]
JAVA_NAMES = {"java": "Java serialization", "jadex": "Jadex Binary 4.0.267", "kryo": "Kryo 5.6.2", "fory": "Fory (Java) 0.11"}
RUST_NAMES = {"bitcode": "bitcode", "protobuf": "protobuf (prost)", "messagepack": "MessagePack, named",
              "cbor": "CBOR (ciborium)", "rkyv": "rkyv, to owned"}
JAVA_OPTIONS = ["-Xmx4g", "-XX:+UseSerialGC"]
TIMEOUT_S = 900


def main():
    options = parse_options()
    commands = {"whimbrel": [options.whimbrel, "bench", "codec", "--object", options.object,
                             "--children", str(options.children), "--json"]}
    wanted = options.only.split(",") if options.only else [*JAVA_NAMES, *RUST_NAMES]
    for kind, names, prepare in [("Java", JAVA_NAMES, java), ("Rust", RUST_NAMES, rust)]:
        peers = [name for name in names if name in wanted]
        if not peers:
            continue
        try:
            start = prepare()
        except toolchains.Unavailable as problem:
            print(f"without the {kind} peers: {problem}", file=sys.stderr)
            continue
        commands.update({name: [*start, name, options.object, str(options.children)] for name in peers})
    measured = {name: [] for name in commands}
    order = list(commands)
    for round_ in range(options.rounds):
        for name in order[round_ % len(order):] + order[:round_ % len(order)]:
            print(f"round {round_ + 1}: {name}", file=sys.stderr)
            measured[name].append(run(commands[name]))
    if options.json:
        print(json.dumps({"object": options.object, "children": options.children, "rounds": measured}))
    else:
        print_table(options, {name: median(rounds) for name, rounds in measured.items()})


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--whimbrel", default=str(target / "release" / "whimbrel"), help="our binary")
    parser.add_argument("--object", choices=["same", "varied"], default="same")
    parser.add_argument("--children", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help=f"of {','.join([*JAVA_NAMES, *RUST_NAMES])}")
    parser.add_argument("--json", action="store_true", help="every round, as one line")
    return parser.parse_args()


def say(text):
    print(text, file=sys.stderr)


def java():
    cache = toolchains.CACHE / "codec-java"
    toolchains.CACHE.mkdir(exist_ok=True)
    sources = [*(HERE / "java" / "src").rglob("*.java"), HERE / "java" / "pom.xml"]
    toolchains.maven("codec/java", "compiling with Maven", cache / "codec-peer.jar", sources, say)
    program = str(toolchains.newest_jdk() / "bin" / "java")
    return [program, *JAVA_OPTIONS, "-cp", f"{cache / 'codec-peer.jar'}:{cache / 'lib'}/*", "CodecPeer"]


def rust():
    toolchains.require("cargo", "install Rust")
    cache = toolchains.CACHE / "codec-rust"
    toolchains.CACHE.mkdir(exist_ok=True)
    sources = [*(HERE / "rust" / "src").glob("*.rs"), *(HERE / "rust").glob("Cargo.*")]
    program = cache / "release" / "codec-peer"
    if toolchains.is_stale(program, sources):
        toolchains.step(say, "codec/rust", "compiling",
                        ["cargo", "build", "--release", "--locked", "--target-dir", str(cache)], cwd=HERE / "rust")
    return [str(program)]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])["metrics"]


def median(rounds):
    return {metric: statistics.median(one[metric] for one in rounds) for metric in rounds[0]}


def print_table(options, medians):
    ours = medians["whimbrel"]
    load = os.getloadavg()[0]
    print(f"{options.object} object, {options.children} children; medians of {options.rounds} rounds; load {load:.1f}")
    print(f"{'':24} {'bytes':>10} {'encode us':>11} {'decode us':>11}   smaller, faster by ours")
    rows = [("whimbrel, text shared", ours["bytes"], ours["encode_us"], ours["decode_us"]),
            ("whimbrel, text owned", ours["bytes"], ours["encode_owned_us"], ours["decode_owned_us"])]
    for name, bytes_, encode, decode in rows:
        print(f"{name:24} {bytes_:10.0f} {encode:11.2f} {decode:11.2f}")
    print(f"{'whimbrel, in place':24} {'':>10} {'':>11} {ours['view_us']:11.2f}")
    for name, peer in medians.items():
        if name == "whimbrel":
            continue
        # Java's objects share their text; those of the Rust codecs do not.
        suffix = "" if name in JAVA_NAMES else "_owned"
        encode, decode = ours[f"encode{suffix}_us"], ours[f"decode{suffix}_us"]
        print(f"{ {**JAVA_NAMES, **RUST_NAMES}[name]:24} {peer['bytes']:10.0f} {peer['encode_us']:11.2f} "
              f"{peer['decode_us']:11.2f}   {peer['bytes'] / ours['bytes']:.1f}x, {peer['encode_us'] / encode:.1f}x, "
              f"{peer['decode_us'] / decode:.1f}x; in place {peer['decode_us'] / ours['view_us']:.0f}x")


if __name__ == "__main__":
    main()
