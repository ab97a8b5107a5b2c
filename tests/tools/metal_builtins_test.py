"""The table of built-in functions in docs/metal.md is what the lists of the sources say."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import metal_builtins


class MetalBuiltins(unittest.TestCase):
    def test_the_documents_table_is_up_to_date(self):
        document = metal_builtins.DOCUMENT.read_text()
        self.assertEqual(document, metal_builtins.updated(document, metal_builtins.LISTS.read_text()))

    def test_each_list_is_read_to_its_end(self):
        text = metal_builtins.LISTS.read_text()
        self.assertEqual("trunc", metal_builtins.rows(text, "INGOT_MATH_BUILTINS")[-1][0])
        self.assertEqual("active_threads_mask", metal_builtins.rows(text, "INGOT_SIMD_BUILTINS")[-1][1])
        self.assertEqual(["fetch_add", "add"], metal_builtins.rows(text, "INGOT_ATOMIC_BUILTINS")[0])


if __name__ == "__main__":
    unittest.main()
