#!/usr/bin/env python3
"""Runs Whimbrel's benchmarks and their peers, in turns, and prints the ratios and which targets are met.

    bench/peers/run.py                                  all benchmarks, all peers, the studies' parameters: hours
    bench/peers/run.py --quick                          the same in small, in about half an hour on two cores
    bench/peers/run.py --quick --only messaging         messages between processes, in about ten minutes
    bench/peers/run.py --quick --only rtt               round trips, in about twenty minutes
    bench/peers/run.py --quick --rounds 1               a look
    bench/peers/run.py --only ring,micro --peers erlang,jason
    bench/peers/run.py --ours none --peers go           a peer alone, without Whimbrel

Every round runs each contender once, so that whatever else the machine does hits all of them alike. The figures are
medians over the rounds; ratios above 1x are in our favour. What a peer needs is installed and built on first use.
Results go to bench/results/, with pictures beside them where matplotlib is installed.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

from harness import cases, children, contenders, machine, programs, report, servers, targets, toolchains

TIMEOUT_S = {"full": 900, "quick": 300}
EXIT_INTERRUPTED = 130


def main():
    options = parse_options()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    print(f"machine: {machine.summary(machine.describe())}")
    entrants = choose_contenders(options)
    document = {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"), "machine": machine.describe(),
        "scale": options.scale, "rounds": options.rounds, "complete": False, "results": [], "failures": [],
    }
    try:
        run_cases(options, entrants, document)
        document["complete"] = not document["failures"]
    except KeyboardInterrupt:
        print("\ninterrupted: what has been measured so far follows", flush=True)
    finally:
        servers.end_all()
    finish(options, document)
    sys.exit(0 if document["complete"] else 1 if document["failures"] else EXIT_INTERRUPTED)


def interrupt(*_):
    raise KeyboardInterrupt


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=names_of(cases.BENCHES), default=cases.BENCHES,
                        help="of " + ",".join(cases.BENCHES))
    parser.add_argument("--cases", metavar="TEXT", default="",
                        help="only those whose name has this in it: --only messaging --cases 'one-to-one 10x10, saturated'")
    parser.add_argument("--peers", type=names_of(contenders.peers()), default=contenders.DEFAULT_PEERS,
                        help="of " + ",".join(contenders.peers()) + " (or none)")
    parser.add_argument("--ours", type=names_of(report.OURS), default=report.OURS,
                        help="native (Rust agents), asl (our AgentSpeak benchmark), "
                             "mas2j (the project that Jason runs too), whimbrel (messaging, rtt), compact and compact-owned "
                             "(codec: texts shared, or one in each object), or none")
    parser.add_argument("--quick", dest="scale", action="store_const", const="quick", default="full",
                        help="the same shapes in small; without it the study's parameters, which take hours")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="size of the AgentSpeak engines' thread pool (default: the cores)")
    parser.add_argument("--timeout", type=int, metavar="S", help="limit for one run (default: 900, quick: 300)")
    parser.add_argument("--whimbrel", type=Path, default=default_binary(), metavar="PATH", help="our binary")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: bench/results/peers-DATE.json")
    options = parser.parse_args()
    options.timeout = options.timeout or TIMEOUT_S[options.scale]
    return options


def names_of(known):
    def parse(text):
        names = () if text == "none" else tuple(text.split(","))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(known)}")
        return names
    return parse


def default_binary():
    target = Path(os.environ.get("CARGO_TARGET_DIR", programs.REPOSITORY / "target"))
    return target / "release" / "whimbrel"


def choose_contenders(options):
    """Ours first, then the peers; a peer that cannot be made ready is left out, with the reason."""
    chosen = []
    if options.ours:
        if not options.whimbrel.exists():
            sys.exit(f"{options.whimbrel} is missing: build it with `cargo build --release`, "
                     "or run the peers alone with `--ours none`")
        available = contenders.ours(str(options.whimbrel))
        chosen = [available[name] for name in options.ours]
    print("getting the peers ready (the first time takes minutes)", flush=True)
    for name in options.peers:
        peer = contenders.peers()[name]
        if not set(peer.benches) & set(options.only):
            continue
        try:
            toolchains.prepare(peer.peer, lambda text: print(text, flush=True))
            chosen.append(contenders.peers()[name])
        except toolchains.Unavailable as problem:
            print(f"  without {name}: {problem}")
    return chosen


def run_cases(options, entrants, document):
    chosen = [case for case in cases.cases(options.scale)
              if case.bench in options.only and options.cases in f"{case.label}, {case.group}"]
    takers = [[entrant for entrant in entrants if entrant.name in case.who and case.bench in entrant.benches]
              for case in chosen]
    progress = Progress(options.rounds * sum(map(len, takers)))
    for case, taking_part in zip(chosen, takers):
        measured = {entrant.name: [] for entrant in taking_part}
        try:
            for turn in range(options.rounds):
                run_round(options, case, turn, taking_part, measured, document, progress)
        finally:
            document["results"] += [summarise(case, name, runs) for name, runs in measured.items() if runs]


def run_round(options, case, turn, taking_part, measured, document, progress):
    # Another one starts each round, so that nobody always runs in the shadow of the same neighbour.
    start = turn % max(1, len(taking_part))
    for entrant in taking_part[start:] + taking_part[:start]:
        what = ", ".join(filter(None, (f"{case.bench} {case.label}", case.group)))
        label = f"{progress.next()} {what}: {entrant.name}"
        print(f"{label:52} ", end="", flush=True)
        try:
            params = case.params_for(entrant.name)
            run = entrant.measure(case.bench, params, options.timeout, options.threads)
            run.metrics = report.with_per_operation(case.bench, params, run.metrics)
            measured[entrant.name].append(run)
            print(headline(case.bench, run.metrics), flush=True)
        except children.ChildFailed as problem:
            print(f"failed: {problem}", flush=True)
            document["failures"].append(
                {"bench": case.bench, "group": case.group, "case": case.label, "contender": entrant.name,
                 "why": str(problem)})


class Progress:
    """Progress line: number of begun runs, and the time so far."""

    def __init__(self, total):
        self.total, self.begun, self.start = total, 0, time.monotonic()

    def next(self):
        self.begun += 1
        minutes, seconds = divmod(int(time.monotonic() - self.start), 60)
        return f"[{self.begun}/{self.total} {minutes}:{seconds:02}]"


def headline(bench, metrics):
    shown = [key for key, _, _ in report.COMPARED.get(bench, [])] or list(metrics)
    return "  ".join(f"{key} {report.number(metrics[key])}" for key in shown if report.is_number(metrics.get(key)))


def summarise(case, name, runs):
    return {
        "bench": case.bench, "group": case.group, "case": case.label, "contender": name, "version": runs[-1].version,
        "params": runs[-1].params, "reduced": case.reduced_for(name),
        "metrics": report.medians([run.metrics for run in runs]), "rounds": [run.metrics for run in runs],
    }


def finish(options, document):
    if not document["results"]:
        return
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    path = options.out or programs.REPOSITORY / "bench" / "results" / f"peers-{stamp}.json"
    # Before anything is printed: a closed pipe must not cost the results.
    report.write(path, document)
    print(report.tables(document["results"]))
    print("\n".join(targets.table(document["results"])))
    versions = dict.fromkeys(f"{result['contender']}: {result['version']}" for result in document["results"])
    print("\nratios above 1x are in our favour\n" + "; ".join(versions))
    print(f"written to {path}")
    draw(path)


def draw(path):
    """Pictures beside the results; without matplotlib the figures are all there is."""
    plot = programs.REPOSITORY / "bench" / "plot.py"
    drawn = subprocess.run([sys.executable, str(plot), str(path)], capture_output=True, text=True, check=False)
    print((drawn.stdout if drawn.returncode == 0 else drawn.stderr).strip())


if __name__ == "__main__":
    main()
