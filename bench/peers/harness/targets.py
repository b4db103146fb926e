"""Targets of the project, as ratios within one run, and the check that a run met them."""

from dataclasses import dataclass

from . import cases, report


@dataclass
class Row:
    what: str
    case: str
    measured: float
    bar: float
    at_least: bool = True  # else at most

    def is_met(self):
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar

    def cells(self):
        sign = ">=" if self.at_least else "<="
        return [self.what, self.case, report.number(self.measured), f"{sign} {report.number(self.bar)}",
                "met" if self.is_met() else "MISSED"]


# Factor of our messages a second over theirs, with certificates on both ends and 64 B.
THROUGHPUT = {
    "one-to-one": {"bare": 0.5, "zenoh": 2, "nats": 2, "zeromq": 4, "rabbitmq": 50, "jade": 20, "spade": 20},
    "many-to-one": {"zeromq": 2, "zenoh": 1, "jade": 20, "spade": 20},
    "broadcast": {"zeromq": 1, "zenoh": 4, "jade": 20, "spade": 20},
}
# ZeroMQ's broadcast is compared here only.
ZEROMQ_BROADCAST = "broadcast 10x10"
SATURATED_P99_US = 5_000
BARE_LATENCY = {"p50_us": 1.5, "p99_us": 2}
CPU_S_PER_MILLION = 0.4
# Allowed ratios of `tls` and `authenticated` to `open`.
SECURITY_THROUGHPUT, SECURITY_LATENCY = 0.9, 1.25

CODEC_BYTES = {"same data": 1_600, "varied data": 4_600}
WARM_BYTES, MESSAGE_US = 60, 0.15
# Factors of our speed over theirs: encoding, decoding. Ours with shared texts for the first three.
CODEC_SPEED = [("compact", "java", 15, 12), ("compact", "jadex", 50, 25), ("compact", "fory", 1, 1),
               ("compact-owned", "java", 10, 6), ("compact-owned", "bitcode", 1, 1)]
VIEW_SPEED = 50

# Least factor of JADE's round trips over ours.
RTT_RATIO = {"2 pairs": 1, "2,048 pairs": 3}
RTT_ALL, RTT_MB = "4,096 pairs", 512
# Share of the computations that the cores do if there is nothing else to do.
RTT_SHARE = 0.9


def table(results):
    """The lines of a table with every target that this run says something about."""
    rows = [*messaging(Figures(results, "messaging")), *codec(Figures(results, "codec")), *rtt(Figures(results, "rtt"))]
    if not rows:
        return []
    missed = sum(not row.is_met() for row in rows)
    head = ["target", "case", "measured", "wanted", ""]
    lines = report.aligned([head, *(row.cells() for row in rows)])
    return ["", f"targets: {len(rows) - missed} met, {missed} missed", *lines]


class Figures:
    """The medians of one benchmark, by contender, group, case and metric."""

    def __init__(self, results, bench):
        self.results = {(result["contender"], result["group"], result["case"]): result["metrics"]
                        for result in results if result["bench"] == bench}

    def find(self, contender, group, case, metric):
        value = self.results.get((contender, group, case), {}).get(metric)
        return value if report.is_number(value) else None

    def of(self, contender):
        """Groups and cases that it took part in."""
        return [(group, case) for name, group, case in self.results if name == contender]

    def ratio(self, upper, lower):
        """The quotient of two figures, each (contender, group, case, metric), if both are there."""
        above, below = self.find(*upper), self.find(*lower)
        return above / below if above is not None and below else None


def messaging(figures):
    for group, case in figures.of("whimbrel"):
        mode, size, security = group.split(", ")
        label = f"{case}, {group}"
        if (size, security) == ("64 B", "authenticated"):
            yield from saturated(figures, group, case, label) if mode == "saturated" else paced(figures, group, case, label)
        if size == "64 B" and security in ("tls", "authenticated"):
            yield from against_open(figures, group, case, label)


def saturated(figures, group, case, label):
    for peer, bar in THROUGHPUT[case.split()[0]].items():
        ratio = figures.ratio(("whimbrel", group, case, "messages_per_s"), (peer, group, case, "messages_per_s"))
        if ratio is not None and not (peer == "zeromq" and case.startswith("broadcast") and case != ZEROMQ_BROADCAST):
            yield Row(f"deliveries per s / {peer}'s", label, ratio, bar)
    if case.startswith("one-to-one"):
        yield Row("p99 us", label, figures.find("whimbrel", group, case, "p99_us"), SATURATED_P99_US, False)
    if case == "one-to-one 100x100":
        yield Row("CPU s per million", label, figures.find("whimbrel", group, case, "cpu_s_per_million"),
                  CPU_S_PER_MILLION, False)


def paced(figures, group, case, label):
    if case not in ("one-to-one 10x10", "one-to-one 100x100"):
        return
    for metric, bar in BARE_LATENCY.items():
        for peer in cases.MESSAGING_PEERS:
            ratio = figures.ratio(("whimbrel", group, case, metric), (peer, group, case, metric))
            if ratio is not None:
                yield Row(f"{metric.removesuffix('_us')} / {peer}'s", label, ratio, bar if peer == "bare" else 1, False)


def against_open(figures, group, case, label):
    mode, size, _ = group.split(", ")
    metric = "messages_per_s" if mode == "saturated" else "p50_us"
    ratio = figures.ratio(("whimbrel", group, case, metric), ("whimbrel", f"{mode}, {size}, open", case, metric))
    if ratio is None:
        return
    if mode == "saturated":
        yield Row("deliveries per s / those of open", label, ratio, SECURITY_THROUGHPUT)
    else:
        yield Row("p50 / that of open", label, ratio, SECURITY_LATENCY, False)


def codec(figures):
    for group, case in figures.of("compact"):
        label = f"{case}, {group}"
        if case == "100 children":
            yield Row("bytes", label, figures.find("compact", group, case, "bytes"), CODEC_BYTES[group], False)
        if case == "100 children" and group == "same data":
            yield Row("us for a small message, there and back", "60 characters",
                      figures.find("compact", group, case, "message_us"), MESSAGE_US, False)
        if case == "0 children":
            warm = figures.find("compact", group, case, "warm_bytes")
            yield Row("bytes on a warm connection", label, warm, WARM_BYTES, False)
            continue
        yield from codec_speed(figures, group, case, label)


def codec_speed(figures, group, case, label):
    for ours, peer, encode, decode in CODEC_SPEED:
        for what, bar in (("encode", encode), ("decode", decode)):
            ratio = figures.ratio((peer, group, case, f"{what}_us"), (ours, group, case, f"{what}_us"))
            if ratio is not None:
                yield Row(f"{peer}'s {what} time / {ours}'s", label, ratio, bar)
    ratio = figures.ratio(("java", group, case, "decode_us"), ("compact", group, case, "view_us"))
    if ratio is not None:
        yield Row("java's decode time / that of a view", label, ratio, VIEW_SPEED)


def rtt(figures):
    for group, case in figures.of("whimbrel"):
        ratio = figures.ratio(("jade", group, case, "rtt_mean_ms"), ("whimbrel", group, case, "rtt_mean_ms"))
        if ratio is not None and case in RTT_RATIO:
            yield Row("jade's round trip / ours", case, ratio, RTT_RATIO[case])
        if case == RTT_ALL:
            yield Row("messages lost", case, figures.find("whimbrel", group, case, "lost"), 0, False)
            yield Row("MB of memory", case, figures.find("whimbrel", group, case, "rss_mb"), RTT_MB, False)
        if case.endswith(("node", "nodes")):
            share = figures.find("whimbrel", group, case, "share_of_allowed")
            yield Row("throughput / what the cores allow", f"{group}, {case}", share, RTT_SHARE)
