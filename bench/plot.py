#!/usr/bin/env python3
"""Draws what bench/peers/run.py measured: one PNG per benchmark, of messaging one for each way to send.

    bench/plot.py bench/results/peers-DATE.json --out DIR       (without --out: beside the JSON file)

Of lines that `whimbrel bench mobility --part retrieval --json` wrote (.jsonl, from any number of runs): one PNG, a panel per bandwidth.
"""

import argparse
import json
import re
import sys
from pathlib import Path

PANELS = {
    "ring": [("ns_per_hop", "ns per hop")],
    "chameneos": [("us_per_meeting", "us per meeting"), ("meetings_sd", "SD of meetings per creature")],
    "fibonacci": [("small_p50_us", "n <= 10, p50 us"), ("small_p99_us", "n <= 10, p99 us"),
                  ("large_p50_us", "large n, p50 us")],
    "spawn": [("us_per_agent", "us per agent"), ("bytes_per_agent", "bytes per agent")],
    "messaging": [("messages_per_s", "deliveries per s (higher is better)"), ("p50_us", "latency, p50 us"),
                  ("p99_us", "latency, p99 us"), ("cpu_s_per_million", "CPU s per million")],
    "rtt": [("rtt_mean_ms", "round trip, mean ms"), ("rtt_p99_ms", "round trip, p99 ms"), ("rss_mb", "MB of memory at most")],
    "codec": [("bytes", "bytes"), ("encode_us", "encode us"), ("decode_us", "decode us")],
}
OURS = ("native", "asl", "mas2j", "whimbrel", "compact", "compact-owned")
# One colour each, the same in all pictures.
COLOURS = {"native": "C0", "asl": "C9", "mas2j": "C2", "erlang": "C3", "go": "C4", "pekko": "C5", "tokio": "C1",
           "jason": "C7", "pekko-throughput": "C8", "tokio-one-thread": "C6", "whimbrel": "C0", "compact": "C0",
           "compact-owned": "C9", "jade": "C7", "spade": "C5"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="a file that bench/peers/run.py wrote")
    parser.add_argument("--out", type=Path, help="folder for the pictures (default: beside the results)")
    options = parser.parse_args()
    plt = load_matplotlib()
    out = options.out or options.results.parent
    out.mkdir(parents=True, exist_ok=True)
    if options.results.suffix == ".jsonl":
        cells = [json.loads(line) for line in options.results.read_text().splitlines()]
        path = out / f"{options.results.stem}.png"
        draw_retrieval(plt, cells).savefig(path, dpi=120)
        print(path)
        return
    document = read(options.results)
    for bench, group in dict.fromkeys(map(table_of, document["results"])):
        results = [result for result in document["results"] if table_of(result) == (bench, group)]
        name = "-".join(re.findall(r"\w+", f"{bench} {group}"))
        path = out / f"{options.results.stem}-{name}.png"
        figure = draw(plt, bench, group, results, document["machine"])
        figure.savefig(path, dpi=120)
        plt.close(figure)
        print(path)


def table_of(result):
    """Key of the picture that a result belongs to; older files have no groups."""
    return result["bench"], result.get("group", "")


def load_matplotlib():
    try:
        import matplotlib
    except ImportError:
        sys.exit("plot.py draws with matplotlib, which is not installed: `pip install matplotlib`")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    return plt


def read(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        sys.exit(f"{path}: {problem}")


def draw(plt, bench, group, results, machine):
    panels = PANELS.get(bench) or [(None, "ns per operation")]
    figure, axes = plt.subplots(1, len(panels), figsize=(5 + 4 * len(panels), 5), squeeze=False, layout="constrained")
    for axis, (metric, unit) in zip(axes[0], panels):
        groups, series = by_operation(results) if metric is None else by_case(results, metric)
        draw_bars(axis, groups, series, unit)
    # The first panel has a bar of each contender.
    axes[0][-1].legend(*axes[0][0].get_legend_handles_labels(), loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.suptitle(f"{bench}{', ' if group else ''}{group}: {machine['cpu']}, {machine['cores']} cores; lower is better unless said")
    return figure


def draw_retrieval(plt, cells):
    """Median times of queries by the number of clients, a panel for each bandwidth."""
    cells = [(cell["params"], cell["metrics"]["total_p50_ms"]) for cell in cells]
    rates = sorted({params["mbit"] for params, _ in cells})
    figure, axes = plt.subplots(1, len(rates), figsize=(4 * len(rates), 4), squeeze=False, layout="constrained")
    lines = dict.fromkeys((params["system"], params["pass"]) for params, _ in cells)
    for axis, rate in zip(axes[0], rates):
        for number, (system, share) in enumerate(lines):
            points = sorted((params["clients"], ms) for params, ms in cells
                            if (params["mbit"], params["system"], params["pass"]) == (rate, system, share))
            axis.plot(*zip(*points), marker="o", label=f"{system}, {share} %", color=f"C{number}") if points else None
        axis.set_title(f"{rate} Mbit/s")
        axis.set_xlabel("clients")
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("median time of a query, ms")
    axes[0][-1].legend()
    return figure


def by_case(results, metric):
    """Groups of bars by case, a bar per contender; those without the metric leave a gap."""
    found = {(result["contender"], result["case"]): result["metrics"].get(metric) for result in results}
    cases = list(dict.fromkeys(case for (_, case), value in found.items() if value is not None))
    names = dict.fromkeys(result["contender"] for result in results)
    return cases, {name: [found.get((name, case)) for case in cases] for name in names}


def by_operation(results):
    operations = list(dict.fromkeys(key for result in results for key in result["metrics"]))
    series = {result["contender"]: [result["metrics"].get(key) for key in operations] for result in results}
    return [operation.removesuffix("_ns") for operation in operations], series


def draw_bars(axis, groups, series, unit):
    """Logarithmic, because Jason and tokio are a factor of thousands apart."""
    width = 0.85 / max(1, len(series))
    for i, (name, values) in enumerate(series.items()):
        bars = [(position + i * width, value) for position, value in enumerate(values) if value]
        axis.bar([x for x, _ in bars], [y for _, y in bars], width, label=name, color=COLOURS.get(name),
                 hatch="//" if name in OURS else None, edgecolor="white")
    axis.set_xticks([position + 0.425 - width / 2 for position in range(len(groups))], groups,
                    rotation=30 if len(groups) > 5 else 0)
    axis.set_xlim(-width, len(groups) - 0.15)
    axis.set_yscale("log")
    label_zeros(axis, series, width)
    axis.set_title(unit)
    axis.grid(axis="y", alpha=0.3)


def label_zeros(axis, series, width):
    """A logarithmic axis has no place for 0: it is written where the bar would stand."""
    for i, values in enumerate(series.values()):
        for position, value in enumerate(values):
            if value == 0:
                axis.annotate("0", (position + i * width, 0), xycoords=("data", "axes fraction"), ha="center", va="bottom")


if __name__ == "__main__":
    main()
