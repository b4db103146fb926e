#!/usr/bin/env python3
"""Run the programs of Jason's own repository on Whimbrel, and optionally on Jason, and compare what they print.

usage: jason_repository.py --cmd 'target/release/whimbrel run {file}' [--jason-cmd CMD] [options] CHECKOUT

CHECKOUT is a checkout of jason-lang/jason. Run are its examples and demos that
need no Java class of their own, and the tests of its engine that are written
in AgentSpeak. Programs run with their own folder as working directory, {file}
being the project, and are ended after some seconds unless they end before.

With --jason-cmd, a command that runs {file} on Jason, each agent's lines are
compared with what Jason prints, in order; numbers of intentions, generated
variable names, random numbers and times count as equal. Programs whose order
depends on chance are compared as sets of lines. Without it, the engine's tests
still say by themselves whether they pass, and the others only have to print
something and report no error. The last line printed is 'N as Jason, N
otherwise' or 'N passed, N failed'.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# Path of the project, seconds to run it, and what is the same from run to run: the order of each agent's lines, which
# lines there are (set), or only what kinds of lines (kinds: all names and numbers aside).
PROJECTS = [
    ("examples/contract-net-protocol/ContractNetProtocol.mas2j", 8, "kinds"),
    ("examples/contract-net-protocol-er/ContractNetProtocol.mas2j", 8, "kinds"),
    ("examples/contract-net-protocol-module/contract_net_protocol.mas2j", 8, "kinds"),
    ("examples/st-claus/jason_stclaus.mas2j", 8, "kinds"),
    ("demos/tell-rule/tell-rule.mas2j", 3, "order"),
    ("demos/idle/idle.mas2j", 4, "order"),
    ("demos/concurrent-goals/concurrent_goals.mas2j", 8, "set"),
    ("demos/hard_deadline/hard_deadline.mas2j", 9, "order"),
    ("demos/failure/demoFail.mas2j", 3, "order"),
    ("demos/selectOptionBB/selectOptionBB.mas2j", 3, "order"),
    ("demos/search/search.mas2j", 8, "order"),
    ("demos/current-intention/current_intention.mas2j", 8, "kinds"),
    ("demos/meta-programming/meta_programming.mas2j", 3, "order"),
    ("demos/communication/Communication.mas2j", 5, "order"),
    ("demos/clone/clone.mas2j", 3, "order"),
    ("demos/chain-bb/chain-bb.mas2j", 3, "order"),
]
TESTS = "jason-interpreter/src/test/jason"
LINE = re.compile(r"\[([A-Za-z]\w*)\] ?(.*)")
SAME = [(re.compile(r"\b_\d+\w*"), "_V"), (re.compile(r"time\(\d+\)"), "time(T)"), (re.compile(r"in \d+ ms"), "in T ms"),
        (re.compile(r"\d+\.\d+"), "R")]
NOTES = ("No failure event was generated", "No fail event was generated", "Found a goal for which there is no",
         "Could not finish intention", "warning:")


def by_agent(text):
    """Each agent's lines, what differs from run to run made equal."""
    agents = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if not match or match.group(1) in ("RunLocalMAS", "TextPersistentBB") or any(note in line for note in NOTES):
            continue
        said = match.group(2).rstrip()
        for pattern, instead in SAME:
            said = pattern.sub(instead, said)
        agents.setdefault(match.group(1), []).append(said)
    return agents


def comparable(text, mode):
    agents = by_agent(text)
    if mode == "order":
        return agents
    if mode == "set":
        return {agent: sorted(lines) for agent, lines in agents.items()}
    kind = lambda line: re.sub(r"\[[^\]]*\]|\d+|\b[a-z]\w*\d\b", "*", line).split("(")[0]
    return {"all": sorted({kind(line) for lines in agents.values() for line in lines})}


def run(command, file, folder, seconds, home):
    """What the command prints in that time; None for the seconds means until it ends."""
    environment = dict(os.environ, JASON_HOME=home)
    file = file if os.path.isabs(file) else os.path.basename(file)
    process = subprocess.Popen(command.replace("{file}", file), shell=True, cwd=folder, text=True,
                               env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, errors="replace", start_new_session=True)
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 15)
        return process.communicate()


def difference(ours, theirs, endless=False):
    """The first difference; of programs that were ended, only what both had the time to print is compared."""
    for agent in sorted(set(ours) | set(theirs)):
        left, right = ours.get(agent, []), theirs.get(agent, [])
        for place in range((min if endless and left and right else max)(len(left), len(right))):
            a = left[place] if place < len(left) else "nothing"
            b = right[place] if place < len(right) else "nothing"
            if a != b:
                return f"[{agent}] line {place + 1}: {a!r}, Jason {b!r}"
    return ""


def project(options, path, seconds, mode):
    folder, home = os.path.join(options.checkout, os.path.dirname(path)), options.checkout
    ours, errors = run(options.cmd, path, folder, seconds * options.slowness, home)
    if options.jason_cmd:
        theirs, more = run(options.jason_cmd, path, folder, (seconds + 1) * options.slowness, home)
        why = difference(comparable(ours, mode), comparable(theirs + more, mode), mode == "order")
        return path, not why, why
    why = next((line for line in errors.splitlines() if line.startswith("error")), "")
    return path, bool(ours) and not why, why or ("" if ours else "prints nothing")


def engine_test(options, path):
    """One tester agent with its manager: what the tests say, and if asked for whether Jason says the same."""
    tests = os.path.join(options.checkout, TESTS)
    name = os.path.basename(path)
    text = ('MAS one { agents: test_manager [goals="create_tester_agents(\\"%s\\",\\"%s\\")", '
            'beliefs="shutdown_delay(30)"]; aslSourcePath: "%s/inc"; }')
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "one.mas2j"), "w", encoding="utf-8") as file:
            file.write(text % ("./src/test/jason/" + os.path.dirname(path), name, tests))
        one, folder = os.path.join(folder, "one.mas2j"), os.path.join(options.checkout, "jason-interpreter")
        ours, _ = run(options.cmd, one, folder, 40 * options.slowness, options.checkout)
        failed = [line for line in ours.splitlines() if "FAILED" in line and not line.startswith("[test_manager]")
                  and "Expected error:" not in line]
        ended = re.search(r"#\d+ tests executed.*\n.*End of Jason unit tests: PASSED", ours)
        why = failed[0] if failed else ("" if ended else "the test manager did not end with PASSED")
        if options.jason_cmd and not why:
            theirs, more = run(options.jason_cmd, one, folder, 60 * options.slowness, options.checkout)
            keep = lambda text: {a: l for a, l in comparable(text, "set").items() if a != "test_manager"}
            why = difference(keep(ours), keep(theirs + more))
    return os.path.join(TESTS, path), not why, why


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cmd", required=True, help="command to run a project on Whimbrel; {file} is replaced")
    parser.add_argument("--jason-cmd", help="command to run a project on Jason; {file} is replaced")
    parser.add_argument("--only", default="", help="only programs whose path contains this")
    parser.add_argument("--slowness", type=float, default=1, help="a factor for all times; more on a slow machine")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("checkout")
    options = parser.parse_args()
    first, _, rest = options.cmd.partition(" ")
    options.cmd = f"{os.path.abspath(first) if os.path.exists(first) else first} {rest}"
    options.checkout = os.path.abspath(options.checkout)
    work = [(project, each) for each in PROJECTS]
    asl = os.path.join(options.checkout, TESTS, "asl")
    for folder, _, files in sorted(os.walk(asl)):
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), os.path.join(options.checkout, TESTS))
            work.append((engine_test, (path,)))
    work = [(what, each) for what, each in work if options.only in each[0]]
    same = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for path, ok, why in pool.map(lambda job: job[0](options, *job[1]), work):
            same += ok
            print(f"{'same ' if ok else 'OTHER'} {path}{': ' + why[:200] if why else ''}", flush=True)
    words = ("as Jason", "otherwise") if options.jason_cmd else ("passed", "failed")
    print(f"{same} {words[0]}, {len(work) - same} {words[1]}")
    return same != len(work)


if __name__ == "__main__":
    sys.exit(main())
