"""Fetch sources of recipes: the only code that uses a network, imported by one command alone.

What is fetched is untrusted. It is looked at in memory, written under the cache as plain files
under checked names, read as recipes, and only then made the revision that holds.
"""
