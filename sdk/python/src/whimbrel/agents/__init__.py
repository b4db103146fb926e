"""Agents: their messages, handlers, behaviours, time, state, and directories."""
