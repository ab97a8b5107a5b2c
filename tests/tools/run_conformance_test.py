"""The conformance runner adds up its checks and fails when one does; the checks are played by scripts."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
GOOD = "print('14 passed, 0 failed')"


class RunConformance(unittest.TestCase):
    def run_checks(self, tokenizers=GOOD, templates=GOOD):
        """What the runner prints, line by line, and its exit code."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "conformance").mkdir()
            for script in ("run_conformance.py", "fetch.py"):
                shutil.copy(ROOT / "tools" / script, folder / script)
            (folder / "conformance/tokenizers.py").write_text(tokenizers)
            (folder / "conformance/templates.py").write_text(templates)
            done = subprocess.run([sys.executable, folder / "run_conformance.py", "--program", "ingot"], text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, env=os.environ)
        return done.stdout.splitlines(), done.returncode

    def test_checks_are_added(self):
        lines, exit_code = self.run_checks()
        self.assertEqual(("28 passed, 0 failed", 0), (lines[-1], exit_code))

    def test_what_a_passing_check_refuses_by_name_is_shown_and_not_counted(self):
        text = "print('refused odd.jinja: line 3'); print('66 passed, 0 failed')"
        lines, exit_code = self.run_checks(templates=text)
        self.assertIn("refused odd.jinja: line 3", lines)
        self.assertEqual(("80 passed, 0 failed", 0), (lines[-1], exit_code))

    def test_failed_checks_are_counted(self):
        lines, exit_code = self.run_checks("print('13 passed, 1 failed'); raise SystemExit(1)")
        self.assertEqual(("27 passed, 1 failed", 1), (lines[-1], exit_code))

    def test_a_check_below_its_bar_counts_though_none_failed(self):
        lines, exit_code = self.run_checks(templates="print('63 passed, 0 failed'); raise SystemExit(1)")
        self.assertEqual(("77 passed, 1 failed", 1), (lines[-1], exit_code))

    def test_a_check_that_ends_early_counts(self):
        lines, exit_code = self.run_checks(templates="raise SystemExit('no model')")
        self.assertEqual(("14 passed, 1 failed", 1), (lines[-1], exit_code))


if __name__ == "__main__":
    unittest.main()
