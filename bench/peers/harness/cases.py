"""Measured cases: the studies' parameters (full), or the same shapes in small (quick)."""

from dataclasses import dataclass, field

NATIVE = ("native", "asl", "erlang", "go", "pekko", "pekko-throughput", "tokio", "tokio-one-thread")
AGENTSPEAK = ("mas2j", "jason")
EVERYBODY = NATIVE + AGENTSPEAK


MESSAGING_PEERS = ("bare", "zenoh", "nats", "zeromq", "erlang-distribution", "rabbitmq", "jade", "spade")
MESSAGING = ("whimbrel",) + MESSAGING_PEERS
# SPADE's agents do not log in where nothing is encrypted.
OPEN_MESSAGING = tuple(name for name in MESSAGING if name != "spade")
# Codecs whose objects share equal texts, and those with a text in each object.
CODEC_SHARED = ("java", "jadex", "jadex-xml", "jade-sl", "kryo", "fory")
CODEC_OWNED = ("bitcode", "protobuf", "messagepack", "cbor", "rkyv")
CODEC_PEERS = CODEC_SHARED + CODEC_OWNED
CODEC = ("compact", "compact-owned") + CODEC_PEERS
RTT = ("whimbrel", "jade")


@dataclass
class Case:
    bench: str
    label: str
    params: dict
    who: tuple = EVERYBODY
    # Parameters of those that would take hours; only what is per operation is then compared. By contender.
    reduced: dict = field(default_factory=dict)
    # Table of the case, if it is not the whole benchmark.
    group: str = ""

    def reduced_for(self, contender):
        return self.reduced.get(contender, {})

    def params_for(self, contender):
        return {**self.params, **self.reduced_for(contender)}


ACTORS = ("ring", "chameneos", "fibonacci", "spawn", "micro")
BENCHES = ACTORS + ("messaging", "codec", "rtt")


def cases(scale):
    return full() if scale == "full" else quick()


def for_agentspeak(**params):
    return {contender: params for contender in AGENTSPEAK}


def ring(tokens, passes, jason_messages):
    return Case("ring", f"T={tokens}", {"workers": 500, "tokens": tokens, "passes": passes},
                reduced=for_agentspeak(passes=max(1, jason_messages // tokens)))


def chameneos(creatures, meetings, jason_meetings):
    return Case("chameneos", f"C={creatures}", {"creatures": creatures, "meetings": meetings},
                reduced=for_agentspeak(meetings=jason_meetings))


def fibonacci(max_n, requests, large_from, who):
    return Case("fibonacci", f"n<={max_n}",
                {"clients": 100, "requests": requests, "max_n": max_n, "large_from": large_from}, who)


def spawn(agents, jason_agents):
    return Case("spawn", f"N={agents}", {"agents": agents}, reduced=for_agentspeak(agents=jason_agents))


NATIVE_ONLY = tuple(name for name in NATIVE if name != "asl")


def full():
    return [
        ring(1, 500_000, 200_000),
        *(ring(tokens, 500_000, 1_000_000) for tokens in (250, 500, 750, 1000)),
        *(chameneos(creatures, 500_000, 100_000) for creatures in (5, 50, 500)),
        fibonacci(30, 50, 25, NATIVE_ONLY),
        # Jason cannot do fib(30) within sensible time; 100 requests are outstanding all the same.
        fibonacci(20, 10, 18, ("asl",) + AGENTSPEAK),
        Case("fibonacci", "n<=30, 5 each", {"clients": 100, "requests": 5, "max_n": 30}, ("asl",)),
        spawn(100_000, 10_000),
        # 100,000 is the target for AgentSpeak agents; a million of Jason's would take 70 GB.
        Case("spawn", "N=1000000", {"agents": 1_000_000}, NATIVE_ONLY),
        Case("micro", "", {"goals": 1_000_000, "fib": 18, "reversals": 200}, AGENTSPEAK),
        *every_messaging(),
        *(codec(kind, children) for children in (0, 100, 10_000, 100_000) for kind in ("same", "varied")),
        *(rtt(pairs, max(4, 1_024 // pairs)) for pairs in (2, 32, 256, 1_024, 2_048, 4_096)),
        *(rtt_on_nodes(nodes, 8) for nodes in (1, 2, 4)),
    ]


def quick():
    return [
        ring(1, 200_000, 50_000),
        ring(500, 10_000, 400_000),
        *(chameneos(creatures, 100_000, 10_000) for creatures in (5, 50, 500)),
        fibonacci(30, 20, 25, NATIVE_ONLY),
        fibonacci(14, 5, 12, ("asl",) + AGENTSPEAK),
        spawn(100_000, 2_000),
        Case("micro", "", {}, AGENTSPEAK),
        *quick_messaging(),
        *(codec(kind, 100) for kind in ("same", "varied")),
        *(rtt(pairs, messages) for pairs, messages in ((2, 128), (256, 2), (2_048, 2), (4_096, 1))),
        *(rtt_on_nodes(nodes, 4) for nodes in (1, 2, 4)),
    ]


# A message per millisecond from each producer, 500 in all, as in the study.
PACED_MESSAGES = 500
# Deliveries that take some seconds: of most, and of those that have to do with fewer, in broadcasts and otherwise.
BROADCAST_DELIVERIES, OTHER_DELIVERIES = 16_000_000, 4_000_000
# A signature and its check for each message take most of the time.
SIGNED_DELIVERIES = 200_000
FEWER_DELIVERIES = {
    "zenoh": (4_000_000, 4_000_000), "nats": (1_000_000, 2_000_000), "zeromq": (8_000_000, 1_000_000),
    "erlang-distribution": (500_000, 500_000), "rabbitmq": (100_000, 100_000), "jade": (20_000, 20_000),
    "spade": (20_000, 20_000),
}
ONE_TO_ONE = [("one-to-one", pairs, pairs) for pairs in (10, 50, 100)]
MANY_TO_ONE = [("many-to-one", producers, 1) for producers in (10, 50, 100)]
BROADCAST = [("broadcast", producers, consumers) for producers in (10, 50) for consumers in (10, 50, 100)]


def messaging(scenario, mode, size=64, security="authenticated", who=MESSAGING):
    name, producers, consumers = scenario
    params = {"scenario": name, "producers": producers, "consumers": consumers, "bytes": size, "mode": mode,
              "security": security, "messages": messages((BROADCAST_DELIVERIES, OTHER_DELIVERIES), scenario, mode)}
    if security == "signed" and mode == "saturated":
        params["messages"] = messages((SIGNED_DELIVERIES, SIGNED_DELIVERIES), scenario, mode)
    fewer = {} if mode == "paced" else {
        contender: {"messages": messages(deliveries, scenario, mode)} for contender, deliveries in FEWER_DELIVERIES.items()}
    size_text = "1 KiB" if size == 1024 else f"{size} B"
    return Case("messaging", f"{name} {producers}x{consumers}", params, who, fewer, f"{mode}, {size_text}, {security}")


def messages(deliveries, scenario, mode):
    """Number of messages that each producer sends."""
    name, producers, consumers = scenario
    if mode == "paced":
        return PACED_MESSAGES
    in_broadcasts, otherwise = deliveries
    return max(1, in_broadcasts // producers // consumers if name == "broadcast" else otherwise // producers)


def every_messaging():
    """The study's scenarios; of our own security levels, those that nobody else has are compared with our others."""
    scenarios = ONE_TO_ONE + MANY_TO_ONE + BROADCAST
    for mode in ("saturated", "paced"):
        for size in (64, 1024):
            for security, who in (("authenticated", MESSAGING), ("open", OPEN_MESSAGING), ("tls", ("whimbrel",)),
                                  ("signed", ("whimbrel",))):
                yield from (messaging(scenario, mode, size, security, who) for scenario in scenarios)


def quick_messaging():
    few = [ONE_TO_ONE[0], ONE_TO_ONE[2], MANY_TO_ONE[0], BROADCAST[0]]
    yield from (messaging(scenario, "saturated") for scenario in few)
    yield from (messaging(scenario, "paced") for scenario in few[:2])
    for security in ("open", "tls", "signed"):
        for mode in ("saturated", "paced"):
            who = ("whimbrel", "bare") if security == "open" else ("whimbrel",)
            yield messaging(ONE_TO_ONE[2], mode, security=security, who=who)


def rtt(pairs, messages):
    """The Siebog study's senders and receivers."""
    params = {"pairs": pairs, "limit": 20_000, "bytes": 65_536, "messages": messages}
    return Case("rtt", f"{pairs:,} pairs", params, RTT, group="one process")


def rtt_on_nodes(nodes, messages):
    params = {**rtt(64, messages).params, "nodes": nodes}
    return Case("rtt", f"{nodes} node{'s' if nodes > 1 else ''}", params, ("whimbrel",), group="64 pairs")


def codec(kind, children):
    return Case("codec", f"{children:,} children", {"object": kind, "children": children}, CODEC, group=f"{kind} data")
