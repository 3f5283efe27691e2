"""Deployments, choices and findings as text for people, shells and programs."""
