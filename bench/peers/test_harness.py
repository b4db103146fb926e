#!/usr/bin/env python3
"""Checks of the harness that need no peer: `python3 bench/peers/test_harness.py`."""

import sys
import tempfile
import time
import unittest
from pathlib import Path

from harness import cases, children, contenders, report


class Projects(unittest.TestCase):
    def write(self, name, values, threads=None):
        with tempfile.TemporaryDirectory() as folder:
            project = contenders.load_make().write_project(name, folder, values, threads)
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
        make = contenders.load_make()
        for case in [case for scale in ("full", "quick") for case in cases.cases(scale)]:
            if set(case.who) & set(cases.AGENTSPEAK):
                self.assertLessEqual(set(case.params_for("jason")), set(make.parameters(case.bench)), case.label)


class Results(unittest.TestCase):
    def test_lines_of_agents_become_metrics(self):
        lines = ["[w1] noise=1", "[driver] RESULT bench=ring seconds=1.5E-4 messages_per_s=2.0", "[a] RESULT x=none"]
        self.assertEqual(report.medians([contenders.parse_results(lines)]),
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
        return {"bench": "ring", "case": "T=1", "contender": name, "reduced": reduced, "metrics": metrics}


class Children(unittest.TestCase):
    def test_a_late_child_ends_with_its_own_children(self):
        start = time.monotonic()
        with self.assertRaisesRegex(children.ChildFailed, "took longer than 0.5 s: started"):
            children.run(["sh", "-c", "echo started; sleep 60 & wait"], 0.5)
        self.assertLess(time.monotonic() - start, 10)

    def test_a_bad_end_says_what_was_printed(self):
        with self.assertRaisesRegex(children.ChildFailed, "status 3: oh no"):
            children.run([sys.executable, "-c", "print('oh no'); raise SystemExit(3)"], 10)

    def test_a_missing_program_is_named(self):
        with self.assertRaisesRegex(children.ChildFailed, "no-such-program"):
            children.run(["no-such-program"], 1)


if __name__ == "__main__":
    unittest.main()
