"""Let these tests use the scripted pair of the chat's tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "chat"))
