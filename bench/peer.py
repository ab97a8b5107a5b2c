"""llama.cpp as the peer of the measurements: taken out of the Python source package llama-cpp-python (the version that
tools/fetch.py pins), built once for this machine below ${XDG_CACHE_HOME:-~/.cache}/ingot/bench."""
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import fetch  # noqa: E402  (tools/fetch.py)


def folder():
    return fetch.cache_folder() / "bench"


def unpack_source(target):
    with tempfile.TemporaryDirectory(prefix=".peer-", dir=target.parent) as scratch:
        package = fetch.pip_download(fetch.SOURCE_PACKAGE, Path(scratch), "--no-binary", ":all:")
        if fetch.sha256_of(package) != fetch.SOURCE_SHA256:
            raise SystemExit(f"{package.name} has another SHA-256 than {fetch.SOURCE_SHA256}")
        unpacked = Path(scratch) / "unpacked"
        with tarfile.open(package) as archive:
            archive.extractall(unpacked, filter="data")
        (source,) = unpacked.glob("*/vendor/llama.cpp")
        source.rename(target)


def llama_bench(jobs):
    """Path of llama-bench, built if it isn't there."""
    source, build = folder() / "llama.cpp", folder() / "llama.cpp-build"
    program = build / "bin" / "llama-bench"
    if program.exists():
        return program
    folder().mkdir(parents=True, exist_ok=True)
    if not source.is_dir():
        print(f"fetching {fetch.SOURCE_PACKAGE}", file=sys.stderr)
        unpack_source(source)
    print(f"building llama-bench in {build}", file=sys.stderr)
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF",
             "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF"]
    for command in (["cmake", "-S", source, "-B", build, "-G", "Ninja", *flags],
                    ["ninja", "-C", build, f"-j{jobs}", "llama-bench"]):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{command[0]} failed:\n{(done.stderr or done.stdout)[-2000:]}")
    return program
