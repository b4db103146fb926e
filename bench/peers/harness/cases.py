"""What is measured: the study's parameters (full), or the same shapes in small (quick)."""

from dataclasses import dataclass, field

NATIVE = ("native", "asl", "erlang", "go", "pekko", "pekko-throughput", "tokio", "tokio-one-thread")
AGENTSPEAK = ("mas2j", "jason")
EVERYBODY = NATIVE + AGENTSPEAK


@dataclass
class Case:
    bench: str
    label: str
    params: dict
    who: tuple = EVERYBODY
    # Other parameters for those that would take hours; only what is per operation is then compared.
    reduced: dict = field(default_factory=dict)

    def params_for(self, contender):
        return {**self.params, **self.reduced} if contender in AGENTSPEAK else self.params


BENCHES = ("ring", "chameneos", "fibonacci", "spawn", "micro")


def cases(scale):
    return full() if scale == "full" else quick()


def ring(tokens, passes, jason_messages):
    return Case("ring", f"T={tokens}", {"workers": 500, "tokens": tokens, "passes": passes},
                reduced={"passes": max(1, jason_messages // tokens)})


def chameneos(creatures, meetings, jason_meetings):
    return Case("chameneos", f"C={creatures}", {"creatures": creatures, "meetings": meetings},
                reduced={"meetings": jason_meetings})


def fibonacci(max_n, requests, large_from, who):
    return Case("fibonacci", f"n<={max_n}",
                {"clients": 100, "requests": requests, "max_n": max_n, "large_from": large_from}, who)


def spawn(agents, jason_agents):
    return Case("spawn", f"N={agents}", {"agents": agents}, reduced={"agents": jason_agents})


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
    ]
