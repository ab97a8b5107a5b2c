"""The include-direction check accepts the directions that ARCHITECTURE.md allows and names each other one."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import check_includes


class CheckIncludes(unittest.TestCase):
    def assert_allowed(self, path, target):
        self.assertEqual([], check_includes.violations_in(path, f'#include "{target}"\n'))

    def assert_refused(self, path, target):
        (message,) = check_includes.violations_in(path, f'#include "{target}"\n')
        self.assertTrue(message.startswith(f"{path}:1: "), message)
        self.assertIn(target, message)

    def test_base_includes_base_alone(self):
        self.assert_allowed("src/base/result.cpp", "base/result.h")
        for target in ("metal/api/device.h", "tile/api/compile.h", "llm/quant/quant.h", "cli/command.h"):
            self.assert_refused("src/base/result.cpp", target)

    def test_llm_uses_only_public_headers_of_metal_and_tile(self):
        self.assert_allowed("src/llm/backend/metal/metal_backend.cpp", "metal/api/device.h")
        self.assert_allowed("src/llm/backend/metal/metal_backend.cpp", "tile/api/compile.h")
        self.assert_refused("src/llm/backend/metal/metal_backend.cpp", "metal/exec/launch.h")
        self.assert_refused("src/llm/backend/metal/metal_backend.cpp", "tile/ir/node.h")
        self.assert_refused("src/llm/engine/engine.cpp", "cli/options.h")

    def test_tile_uses_metal_in_its_tuner_alone(self):
        self.assert_allowed("src/tile/tuner/tuner.cpp", "metal/api/device.h")
        self.assert_refused("src/tile/plan/solver.cpp", "metal/api/device.h")

    def test_metal_knows_nothing_of_its_users(self):
        self.assert_refused("src/metal/api/device.h", "llm/engine/engine.h")
        self.assert_refused("src/metal/api/device.h", "tile/api/compile.h")

    def test_cli_tests_and_benches_use_everything(self):
        self.assert_allowed("src/cli/run.cpp", "metal/exec/launch.h")
        self.assert_allowed("tests/tile/run_test.cpp", "metal/exec/launch.h")
        self.assert_allowed("bench/kernels.cpp", "llm/backend/cpu/cpu_backend.h")

    def test_angle_brackets_and_relative_paths_are_no_way_round(self):
        (message,) = check_includes.violations_in("src/base/half.h", "#  include <llm/quant/quant.h>\n")
        self.assertIn("llm/quant/quant.h", message)
        (message,) = check_includes.violations_in("src/base/half.h", '\n#include "../llm/quant/quant.h"\n')
        self.assertTrue(message.startswith("src/base/half.h:2: "))

    def test_a_tree_without_sources_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            sys.argv = ["check_includes.py", folder]
            self.assertEqual(1, check_includes.main())


if __name__ == "__main__":
    unittest.main()
