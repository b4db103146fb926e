"""Request and inform over FIPA's HTTP transport: JADE to JADE, and JADE and Whimbrel in both directions.

    make jade && python3 bench/peers/mtp.py

Each line is the second of two runs with 10,000 requests, at most 100 of them unanswered, in processes on this machine.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
JAR = ROOT / ".cache" / "jade" / "jade-4.3.jar"
SOURCE = ROOT / "conformance" / "jade" / "JadePlatform.java"
COUNT = 10_000
EXPORTS = ("--add-exports", "java.xml/com.sun.org.apache.xerces.internal.jaxp=ALL-UNNAMED")


def jade(folder, name, port):
    """Starts a JADE platform whose message transport is at the port after this one."""
    address = f"http://127.0.0.1:{port + 1}/acc"
    command = ["java", *EXPORTS, "-cp", f"{JAR}:{folder}", "JadePlatform", name, str(port), address]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "@ ready\n"
    return process, address


def flood(process, name, address):
    """Returns the milliseconds of the second of two floods."""
    for _ in range(2):
        process.stdin.write(f"flood\t{COUNT}\t{name}\t{address}\n")
        process.stdin.flush()
        words = process.stdout.readline().split()
    return int(words[4])


def jade_to_jade(folder):
    one, _ = jade(folder, "one", 18101)
    two, address = jade(folder, "two", 18103)
    took = flood(one, "echo@two", address)
    for process in (one, two):
        process.communicate("end\n")
    return took


def main():
    if not JAR.is_file():
        sys.exit("there is no JADE: make jade")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["javac", "-nowarn", "-Xlint:none", "-d", folder, "-cp", str(JAR), str(SOURCE)], check=True,
                       stderr=subprocess.DEVNULL)
        print(f"JADE to JADE and back: {COUNT} in {jade_to_jade(folder)} ms", flush=True)
    # The test has the other directions.
    test = ["cargo", "test", "--quiet", "--release", "--package", "whimbrel", "--test", "it", "--", "--nocapture",
            "--test-threads=1", "jade::jade_and", "jade::platforms"]
    environment = dict(os.environ, WHIMBREL_JADE_FLOOD=str(COUNT), WHIMBREL_JADE_REQUIRED="1")
    output = subprocess.run(test, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    for line in (output.stdout + output.stderr).splitlines():
        if " and back: " in line:
            print(line.split("... ")[-1])


if __name__ == "__main__":
    main()
