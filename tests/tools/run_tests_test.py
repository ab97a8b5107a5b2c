"""Choosing tests by the folder of their sources: every kind of test, and nothing of other folders."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import run_tests  # noqa: E402

SOURCE = """
TEST(Pool, RunsEveryTask) {
}
TEST_P(Kernel, IsRight) {
TEST_F(Fixture,
       LongName) {
// TEST(Commented, Out)
"""


class NamesOf(unittest.TestCase):
    def test_tests_are_chosen_by_the_folder_of_their_source(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "a/deep").mkdir(parents=True)
            (folder / "a/deep/some_test.cpp").write_text(SOURCE)
            names = re.compile(run_tests.names_of([folder / "a"]))
        for test in ("Pool.RunsEveryTask", "EveryType/Kernel.IsRight/Q4_0", "Fixture.LongName"):
            self.assertTrue(names.search(test), test)
        for test in ("PoolParty.RunsEveryTask", "ThreadPool.RunsEveryTask", "Commented.Out"):
            self.assertFalse(names.search(test), test)

    def test_a_folder_without_tests_is_an_error(self):
        with tempfile.TemporaryDirectory() as name, self.assertRaises(SystemExit):
            run_tests.names_of([Path(name)])


if __name__ == "__main__":
    unittest.main()
