"""The CI script adds up tests and checks, and fails when anything failed; `make` is played by a script."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLOSING_TESTS = "100% tests passed, 0 tests failed out of 40"
CLOSING_CHECKS = "15 passed, 0 failed"
CLOSING_METAL_CHECKS = "200 passed, 0 failed"


class CiRun(unittest.TestCase):
    def run_ci(self, outputs=None, failing=()):
        """The closing line and the exit code, with these outputs of make's targets."""
        outputs = {"test": CLOSING_TESTS, "conformance": CLOSING_CHECKS,
                   "conformance-metal": CLOSING_METAL_CHECKS} | (outputs or {})
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / ".ci").mkdir()
            shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
            cases = "".join(f"{target}) echo '{text}';;\n" for target, text in outputs.items())
            fails = "|".join(failing) or "none"
            make = folder / "make"
            make.write_text(f"#!/bin/sh\ncase $1 in\n{cases}esac\ncase $1 in {fails}) exit 2;; esac\nexit 0\n")
            make.chmod(0o755)
            done = subprocess.run(["bash", ".ci/run"], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                                  capture_output=True, env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"})
        return done.stdout.splitlines()[-1], done.returncode

    def test_tests_and_checks_are_added(self):
        self.assertEqual(("255 passed, 0 failed", 0), self.run_ci())

    def test_failed_tests_and_checks_are_counted(self):
        outputs = {"test": "95% tests passed, 2 tests failed out of 40", "conformance": "14 passed, 1 failed",
                   "conformance-metal": "196 passed, 4 failed"}
        self.assertEqual(("248 passed, 7 failed", 1),
                         self.run_ci(outputs, ("test", "conformance", "conformance-metal")))

    def test_a_step_that_fails_without_a_count_counts(self):
        self.assertEqual(("255 passed, 1 failed", 1), self.run_ci(failing=("check-format",)))
        self.assertEqual(("215 passed, 1 failed", 1), self.run_ci({"test": "error: no compiler"}, ("test",)))

    def test_no_test_at_all_is_a_failure(self):
        self.assertEqual(("0 passed, 1 failed", 1), self.run_ci({"test": "", "conformance": "", "conformance-metal": ""}))


if __name__ == "__main__":
    unittest.main()
