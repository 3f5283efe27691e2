"""Servers that run: where they answer, what they promise, whether that holds, what is started."""
