#!/usr/bin/env python3
"""Checks of the harness that need no peer: `python3 bench/peers/test_harness.py`."""

import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from harness import cases, children, codecs, messaging, programs, report, targets


class Projects(unittest.TestCase):
    def write(self, name, values, threads=None):
        with tempfile.TemporaryDirectory() as folder:
            project = programs.load_make().write_project(name, folder, values, threads)
            sources = {path.name for path in Path(folder).glob("*.asl")}
            return project.read_text(), sources

    def test_parameters_reach_the_project(self):
        text, sources = self.write("ring", {"workers": 7, "tokens": 3, "passes": 11}, threads=4)
        self.assertIn("workers(7),tokens(3),passes(11)", text)
        self.assertIn("#7", text)
        self.assertIn("Local(pool,4)", text)
        self.assertEqual(sources, {"ring_driver.asl", "ring_worker.asl"})

    def test_a_wrong_parameter_is_named(self):
        with self.assertRaisesRegex(ValueError, "ring has no parameter creatures"):
            self.write("ring", {"creatures": 5})

    def test_every_case_has_parameters_that_its_project_knows(self):
        make = programs.load_make()
        for case in [case for scale in ("full", "quick") for case in cases.cases(scale)]:
            if case.bench in cases.ACTORS and set(case.who) & set(cases.AGENTSPEAK):
                self.assertLessEqual(set(case.params_for("jason")), set(make.parameters(case.bench)), case.label)


class Results(unittest.TestCase):
    def test_lines_of_agents_become_metrics(self):
        lines = ["[w1] noise=1", "[driver] RESULT bench=ring seconds=1.5E-4 messages_per_s=2.0", "[a] RESULT x=none"]
        self.assertEqual(report.medians([programs.parse_results(lines)]),
                         {"seconds": 1.5e-4, "messages_per_s": 2.0, "x": None})

    def test_ratio_is_peer_over_ours_per_hop(self):
        results = [self.ring("native", {"tokens": 1, "passes": 1000}, 1e-6, {}),
                   self.ring("erlang", {"tokens": 1, "passes": 1000}, 4e-6, {}),
                   self.ring("asl", {"tokens": 1, "passes": 1000}, 2e-6, {}),
                   self.ring("jason", {"tokens": 1, "passes": 100}, 4e-6, {"passes": 100})]
        text = report.tables(results)
        self.assertIn("4x native, 2x asl", text)
        self.assertIn("40* (20x asl)", text)
        self.assertIn("jason did less: passes 100 at T=1", text)

    def ring(self, name, params, seconds, reduced):
        metrics = report.with_per_operation("ring", params, {"seconds": seconds})
        return {"bench": "ring", "group": "", "case": "T=1", "contender": name, "reduced": reduced, "metrics": metrics}


    def test_more_messages_a_second_are_in_our_favour(self):
        results = [self.messaging("whimbrel", {"messages_per_s": 300, "p50_us": 10.0}),
                   self.messaging("nats", {"messages_per_s": 100, "p50_us": 5.0}, {"messages": 7})]
        text = report.tables(results)
        self.assertIn("100* (3x whimbrel)", text)
        self.assertIn("5* (0.5x whimbrel)", text)
        self.assertIn("nats did less: messages 7 at one-to-one 10x10", text)

    def test_medians_leave_out_what_a_round_lacks(self):
        self.assertEqual(report.medians([{"a": 3}, {"a": 1, "b": None}, {"a": 2, "b": 4}]), {"a": 2, "b": 4})

    def messaging(self, name, metrics, reduced=None):
        return {"bench": "messaging", "group": "saturated, 64 B, authenticated", "case": "one-to-one 10x10",
                "contender": name, "reduced": reduced or {}, "metrics": metrics}


class Targets(unittest.TestCase):
    def rows(self, *results):
        return [(row.what, row.is_met()) for row in targets.messaging(targets.Figures(results, "messaging"))]

    def result(self, name, group, **metrics):
        return {"bench": "messaging", "group": group, "case": "one-to-one 100x100", "contender": name, "metrics": metrics}

    def test_a_target_is_met_or_missed_by_the_ratio_within_the_run(self):
        group = "saturated, 64 B, authenticated"
        ours = self.result("whimbrel", group, messages_per_s=200, p99_us=5_001, cpu_s_per_million=0.4)
        peers = [self.result("nats", group, messages_per_s=100), self.result("zenoh", group, messages_per_s=101)]
        self.assertEqual(self.rows(ours, *peers), [
            ("deliveries per s / zenoh's", False), ("deliveries per s / nats's", True), ("p99 us", False),
            ("CPU s per million", True)])

    def test_security_is_compared_with_none(self):
        ours = [self.result("whimbrel", f"paced, 64 B, {level}", p50_us=us) for level, us in
                (("authenticated", 13), ("open", 10), ("tls", 12))]
        self.assertEqual(self.rows(*ours), [("p50 / that of open", False), ("p50 / that of open", True)])

    def test_a_peer_that_is_not_there_is_not_beaten(self):
        self.assertEqual(targets.table([self.result("nats", "paced, 64 B, authenticated", p50_us=1)]), [])


    def test_round_trips_are_compared_with_jades_and_with_what_the_cores_allow(self):
        def result(name, group, case, **metrics):
            return {"bench": "rtt", "group": group, "case": case, "contender": name, "metrics": metrics}

        group = "one process"
        results = [
            result("whimbrel", group, "2 pairs", rtt_mean_ms=40.0), result("jade", group, "2 pairs", rtt_mean_ms=39.0),
            result("whimbrel", group, "2,048 pairs", rtt_mean_ms=10.0), result("jade", group, "2,048 pairs", rtt_mean_ms=30.0),
            result("whimbrel", group, "4,096 pairs", lost=1, rss_mb=400.0),
            result("whimbrel", "64 pairs", "4 nodes", share_of_allowed=0.91),
        ]
        rows = [(row.what, row.is_met()) for row in targets.rtt(targets.Figures(results, "rtt"))]
        self.assertEqual(rows, [
            ("jade's round trip / ours", False), ("jade's round trip / ours", True), ("messages lost", False),
            ("MB of memory", True), ("throughput / what the cores allow", True)])
        self.assertIn("| jade's round trip / ours", "\n".join(targets.table(results)))

    def test_every_target_of_round_trips_has_a_case_at_either_scale(self):
        for scale in ("full", "quick"):
            labels = {case.label for case in cases.cases(scale) if case.bench == "rtt"}
            self.assertLessEqual({*targets.RTT_RATIO, targets.RTT_ALL, "1 node", "2 nodes", "4 nodes"}, labels)


class Messaging(unittest.TestCase):
    ASKED = {"scenario": "broadcast", "producers": 2, "consumers": 3, "messages": 5}

    def test_what_was_delivered_must_be_all(self):
        answer = {"deliveries": 30, "seconds": 0.5, "p50_us": 1.0, "p99_us": 2.0}
        self.assertEqual(messaging.metrics_of(answer, self.ASKED, 0.3)["messages_per_s"], 60)
        self.assertAlmostEqual(messaging.metrics_of(answer, self.ASKED, 0.3)["cpu_s_per_million"], 10_000)
        with self.assertRaisesRegex(children.ChildFailed, "29 of 30 messages came"):
            messaging.metrics_of({**answer, "deliveries": 29}, self.ASKED, 0.3)

    def test_versions_are_those_that_are_built(self):
        versions = {peer.name: peer.version for peer in messaging.peers()}
        for name, start in {"bare": r"rustls \d", "zenoh": r"Zenoh \d", "jade": r"JADE \d"}.items():
            self.assertRegex(versions[name](), start)
        for peer in codecs.peers():
            self.assertRegex(peer.version, r" \d|^Java serialization$")

    def test_every_case_sends_something(self):
        for case in [case for scale in ("full", "quick") for case in cases.cases(scale) if case.bench == "messaging"]:
            for name in case.who:
                self.assertGreater(case.params_for(name)["messages"], 0, (name, case.label))


class Children(unittest.TestCase):
    def test_a_late_child_ends_with_its_own_children(self):
        start = time.monotonic()
        with self.assertRaisesRegex(children.ChildFailed, "took longer than 0.5 s: started"):
            children.run(["sh", "-c", "echo started; sleep 60 & wait"], 0.5)
        self.assertLess(time.monotonic() - start, 10)

    def test_a_bad_end_says_what_was_printed(self):
        with self.assertRaisesRegex(children.ChildFailed, "status 3: oh no"):
            children.run([sys.executable, "-c", "print('oh no'); raise SystemExit(3)"], 10)

    def test_a_conversation_waits_for_the_line_it_wants_and_ends_the_child(self):
        with children.Conversation(["sh", "-c", "echo noise; echo ready; read line; echo got $line; sleep 60"]) as child:
            self.assertEqual(child.hear("ready", 10), "ready")
            child.say("go")
            self.assertEqual(child.hear("got", 10), "got go")
            with self.assertRaisesRegex(children.ChildFailed, "took longer than 0.2 s: noise | ready | got go"):
                child.hear("never", 0.2)
        self.assertIsNotNone(child.process.returncode)

    def test_a_conversation_with_one_that_ends_says_what_it_said(self):
        with children.Conversation(["sh", "-c", "echo no such port"]) as child:
            with self.assertRaisesRegex(children.ChildFailed, "ended early: no such port"):
                child.hear("ready", 10)

    def test_processor_time_is_that_of_a_group(self):
        with children.Conversation(["sh", "-c", "while :; do :; done"]) as busy:
            with children.Conversation(["sleep", "60"]) as idle:
                time.sleep(0.5)
                self.assertGreater(children.cpu_seconds({busy.process.pid}), 0)
                self.assertEqual(children.cpu_seconds({idle.process.pid}), 0)

    def test_a_missing_program_is_named(self):
        with self.assertRaisesRegex(children.ChildFailed, "no-such-program"):
            children.run(["no-such-program"], 1)


class Scaling(unittest.TestCase):
    def test_programs_that_fail_are_left_out(self):
        answer = '{"version": "9.9", "metrics": {"messages_per_s": 2500000}}'
        with tempfile.TemporaryDirectory() as folder:
            whimbrel = Path(folder) / "whimbrel"
            whimbrel.write_text(f"#!/bin/sh\ncase \"$*\" in *asl*) exit 1;; esac\necho '{answer}'\n")
            whimbrel.chmod(0o755)
            script = Path(__file__).with_name("scaling.py")
            options = ["--rounds", "1", "--threads", "1,4", "--whimbrel", str(whimbrel), "--peers", folder]
            environment = {"PATH": "/usr/bin:/bin", "ERL_LIBS": "none"}
            ran = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, env=environment)
        self.assertIn("| 500 | native | 2.5 | 2.5 |", ran.stdout)
        self.assertNotIn("| asl |", ran.stdout)
        self.assertRegex(ran.stdout, "left out, .*: asl, .*go, tokio")


if __name__ == "__main__":
    unittest.main()
