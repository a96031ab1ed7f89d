"""The package is imported from the folder above, and compiled code is made when it is asked for, not kept."""

import os
import sys
from pathlib import Path

os.environ.setdefault("INGOT_CACHE", "off")
os.environ.setdefault("INGOT_TIERS", "quick")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
