"""A recipe and a choice in, a deployment out. Pure: no clock, no environment, no disk."""
