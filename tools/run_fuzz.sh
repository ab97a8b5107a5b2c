#!/usr/bin/env bash
# Runs every fuzz target of a build for some seconds, from its seed corpus: run_fuzz.sh BUILD SECONDS
# New inputs are kept in BUILD/corpus; an input that breaks a target is left in BUILD/crashes.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 seconds=$2
failed=0
mkdir -p "$build/crashes"
for target in "$build"/bin/fuzz_*; do
    name=$(basename "$target")
    seeds=tests/fuzz/corpus/${name#fuzz_}
    [ -d "$seeds" ] || { echo "fuzz: $name has no seed corpus $seeds" >&2; failed=1; continue; }
    mkdir -p "$build/corpus/$name"
    echo "fuzz: $name for $seconds s"
    if "$target" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 \
        -artifact_prefix="$build/crashes/$name-" "$build/corpus/$name" "$seeds" >"$build/$name.log" 2>&1; then
        awk '/number_of_executed_units|new_units_added/ {printf "fuzz:   %s %s\n", $1, $2}' "$build/$name.log"
    else
        tail -n 60 "$build/$name.log" >&2
        echo "fuzz: $name failed; its log is $build/$name.log" >&2
        failed=1
    fi
done
exit $failed
