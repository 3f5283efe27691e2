"""Faults of recipes that reading them does not show: pure functions of what a file says."""

from __future__ import annotations

from .codes import CODES
from .fault import Edit, Fault
from .run import faults_of_file, faults_of_recipe, settled

__all__ = ["CODES", "Edit", "Fault", "faults_of_file", "faults_of_recipe", "settled"]
