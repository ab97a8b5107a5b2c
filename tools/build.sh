#!/usr/bin/env bash
# Configures a CMake preset where that is due and builds targets: build.sh PRESET [NINJA_FLAG...] TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
folder=build/$preset
log=$folder/configure.log

if [ ! -f "$folder/build.ninja" ]; then
    echo "build: configuring $folder"
    mkdir -p "$folder"
    if ! cmake --preset "$preset" >"$log" 2>&1; then
        cat "$log" >&2
        exit 1
    fi
fi
echo "build: building ${*} in $folder"
# A terminal gets ninja's one changing line; a log gets warnings and errors only.
quiet=()
[ -t 1 ] || quiet=(--quiet)
ninja "${quiet[@]}" -C "$folder" "$@" 2>&1 |
    { grep -v -e '^ninja: Entering directory' -e '^ninja: no work to do' -e '^-- ' || true; }
