"""Many processes tune one kernel while some are killed; scripts/tune_under_fire.py runs as many rounds as one likes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "tune_under_fire.py"


def test_killed_tuners_lose_nothing_and_are_taken_over(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--rounds", "5", "--real-every", "5", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"[1-9]\d* results committed, none measured again, none lost, no file damaged", done.stdout)
    found = re.search(
        r"(\d+) killed while they held the lock; taken over after .*, (\d+\.\d+) s \(longest\)", done.stdout
    )
    assert found is not None and int(found[1]) >= 1 and float(found[2]) < 5
