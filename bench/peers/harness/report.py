"""Medians, ratios, the table that is printed, and the file that is written."""

import json
from statistics import median

from . import cases

# Compared metrics of each benchmark: metric, unit, and True if it means the same when a run did less work.
COMPARED = {
    "ring": [("ns_per_hop", "ns per hop", True)],
    "chameneos": [("us_per_meeting", "us per meeting", True), ("meetings_sd", "SD of meetings per creature", False)],
    "fibonacci": [("small_p50_us", "n <= 10, p50 us", True), ("small_p99_us", "n <= 10, p99 us", True),
                  ("small_max_us", "n <= 10, slowest us", False), ("large_p50_us", "large n, p50 us", True)],
    "spawn": [("us_per_agent", "us per agent", True), ("bytes_per_agent", "bytes per agent", True)],
    "messaging": [("messages_per_s", "deliveries per s", True), ("p50_us", "latency, p50 us", True),
                  ("p99_us", "latency, p99 us", True), ("cpu_s_per_million", "CPU s per million, of all processes", True)],
    "rtt": [("rtt_mean_ms", "round trip, mean ms", True), ("rtt_p50_ms", "round trip, p50 ms", True),
            ("rtt_p99_ms", "round trip, p99 ms", True), ("round_trips_per_s", "round trips per s", True),
            ("share_of_allowed", "share of what the cores allow", True), ("rss_mb", "MB of memory at most", True),
            ("lost", "lost", True)],
    "codec": [("bytes", "bytes", True), ("encode_us", "encode us", True), ("decode_us", "decode us", True)],
}
# More is better; of all others less is.
MORE_IS_BETTER = ("messages_per_s", "round_trips_per_s", "share_of_allowed")
OURS = ("native", "asl", "mas2j", "whimbrel", "compact", "compact-owned")
# Which of ours a peer is compared with: what runs the same program, or what a user would choose instead.
REFERENCES = {"jason": ("asl", "mas2j"), **dict.fromkeys(cases.MESSAGING_PEERS, ("whimbrel",)),
              **dict.fromkeys(cases.CODEC_SHARED, ("compact",)), **dict.fromkeys(cases.CODEC_OWNED, ("compact-owned",))}
DEFAULT_REFERENCES = ("native", "asl")


def with_per_operation(bench, params, metrics):
    """Adds the figures per operation, the only ones that compare runs of different length."""
    metrics = dict(metrics)
    seconds = metrics.get("seconds")
    if seconds is None:
        return metrics
    if bench == "ring":
        metrics["ns_per_hop"] = seconds * 1e9 / (params["tokens"] * params["passes"])
    elif bench == "chameneos":
        metrics["us_per_meeting"] = seconds * 1e6 / params["meetings"]
    elif bench == "spawn":
        metrics["us_per_agent"] = seconds * 1e6 / params["agents"]
    return metrics


def medians(rounds):
    """The median of each metric over the rounds that have it."""
    keys = dict.fromkeys(key for metrics in rounds for key in metrics)
    columns = {key: [metrics[key] for metrics in rounds if is_number(metrics.get(key))] for key in keys}
    return {key: median(values) if values else None for key, values in columns.items()}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def tables(results):
    """All tables, one per benchmark, group and metric: a row per contender, a column per case."""
    lines = []
    for bench, group in dict.fromkeys((result["bench"], result["group"]) for result in results):
        mine = [result for result in results if (result["bench"], result["group"]) == (bench, group)]
        lines += micro_table(mine) if bench == "micro" else bench_tables(bench, group, mine)
    return "\n".join(lines)


def bench_tables(bench, group, results):
    lines = []
    for metric, unit, _ in COMPARED[bench]:
        rows = metric_rows(metric, results)
        if rows:
            labels = list(dict.fromkeys(result["case"] for result in results))
            title = f"{bench}, {group}: {unit}" if group else f"{bench}: {unit}"
            lines += ["", title] + aligned([["", *labels], *rows])
    return lines + reductions(results)


def metric_rows(metric, results):
    labels = list(dict.fromkeys(result["case"] for result in results))
    rows = []
    for name in dict.fromkeys(result["contender"] for result in results):
        found = {result["case"]: result for result in results if result["contender"] == name}
        cells = [cell(metric, found.get(label), results) for label in labels]
        if any(cells):
            rows.append([name, *cells])
    return rows


def cell(metric, result, results):
    """A value with the ratios to ours in brackets; above 1x is in our favour."""
    value = result and result["metrics"].get(metric)
    if not is_number(value):
        return ""
    references = () if result["contender"] in OURS else REFERENCES.get(result["contender"], DEFAULT_REFERENCES)
    ratios = [ratio for ratio in (ratio_to(name, metric, result, results) for name in references) if ratio]
    mark = "*" if result["reduced"] else ""
    return f"{number(value)}{mark}" + (f" ({', '.join(ratios)})" if ratios else "")


def ratio_to(reference, metric, result, results):
    for other in results:
        if other["contender"] == reference and other["case"] == result["case"]:
            mine = other["metrics"].get(metric)
            same_work = other["reduced"] == result["reduced"] or scales(metric, result["bench"])
            if is_number(mine) and mine > 0 and same_work:
                ratio = in_our_favour(metric, mine, result["metrics"][metric])
                return f"{number(ratio) if ratio >= 0.001 else '<0.001'}x {reference}"
    return None


def in_our_favour(metric, ours, theirs):
    """Factor by which our figure is better; below 1 it is worse."""
    better, worse = (theirs, ours) if metric in MORE_IS_BETTER else (ours, theirs)
    return worse / better if better else float("inf")


def scales(metric, bench):
    return any(name == metric and per_operation for name, _, per_operation in COMPARED[bench])


def reductions(results):
    """Says who did less work than the others, so that nobody takes a total for a total."""
    done = {}
    for result in results:
        for key, value in result["reduced"].items():
            done.setdefault(result["contender"], []).append(f"{key} {value:,} at {result['case']}")
    return [f"  * {name} did less: {', '.join(what)}" for name, what in done.items()]


def micro_table(results):
    names = list(dict.fromkeys(result["contender"] for result in results))
    found = {result["contender"]: result["metrics"] for result in results}
    rows = []
    for metric in dict.fromkeys(key for metrics in found.values() for key in metrics):
        values = [found[name].get(metric) for name in names]
        texts = [number(value) if is_number(value) else "" for value in values]
        ours, peer = found.get("mas2j", {}).get(metric), found.get("jason", {}).get(metric)
        rows.append([metric.removesuffix("_ns"), *texts, f"{number(peer / ours)}x" if ours and peer else ""])
    return ["", "micro: ns per operation"] + aligned([["", *names, "jason/ours"], *rows])


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    texts = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |" for row in rows]
    texts.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return texts


def number(value):
    """Three digits that matter; more would pretend a precision that a shared machine does not have."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
