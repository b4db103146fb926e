"""Runs the actor benchmarks on Whimbrel and on its peers, side by side on one machine."""
