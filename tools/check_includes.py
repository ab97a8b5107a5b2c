#!/usr/bin/env python3
"""Checks the include direction of the libraries: check_includes.py [ROOT]

Each row of RULES says, for the files below a folder, which folders of src/ they may include; the first row that
matches a file counts. Folders that no row names (tests, benches, examples) may include everything.
"""

import re
import sys
from pathlib import Path

# Public parts of the libraries that others build on.
METAL_API = ("metal/api/",)
TILE_API = ("tile/api/",)

RULES = (
    ("src/base/", ("base/",)),
    ("src/metal/", ("base/", "metal/")),
    ("src/tile/tuner/", ("base/", "tile/", *METAL_API)),
    ("src/tile/", ("base/", "tile/")),
    ("src/llm/", ("base/", "llm/", *METAL_API, *TILE_API)),
    ("src/cli/", ("base/", "metal/", "tile/", "llm/", "cli/")),
)
LIBRARIES = ("base/", "metal/", "tile/", "llm/", "cli/")
SUFFIXES = {".h", ".hpp", ".cpp", ".inc", ".def", ".metal"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def allowed_for(path: str):
    return next((allowed for prefix, allowed in RULES if path.startswith(prefix)), None)


def violations_in(path: str, text: str) -> list[str]:
    """Messages for the includes of one file; `path` is relative to the root."""
    allowed = allowed_for(path)
    if allowed is None:
        return []
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match[1] or match[2]
        if "../" in target:
            found.append(f'{path}:{number}: "{target}" climbs out of its folder; include from src/ on')
        elif target.startswith(LIBRARIES) and not target.startswith(allowed):
            found.append(f'{path}:{number}: includes "{target}"; allowed here: {", ".join(allowed)}')
    return found


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    files = [p for p in sorted((root / "src").rglob("*")) if p.suffix in SUFFIXES]
    found = []
    for file in files:
        found += violations_in(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
    print("\n".join(found) if found else f"includes: {len(files)} files keep the direction")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
