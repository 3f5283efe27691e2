"""Reads the machine. Never raises for what a machine lacks: the reason is in the facts."""
