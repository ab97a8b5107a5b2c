#!/usr/bin/env bash
# Checks that every C++ file of the repository is formatted as .clang-format says; --fix formats them.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.cpp' '*.h')
if [ "${1:-}" = --fix ]; then
    clang-format-19 -i "${files[@]}"
    echo "format: formatted ${#files[@]} files"
    exit 0
fi
if ! report=$(clang-format-19 --dry-run --Werror "${files[@]}" 2>&1); then
    echo "format: not as .clang-format says (mend with 'make format'):"
    grep 'error: code should be clang-formatted' <<<"$report" | cut -d: -f1,2 | sort -u | head -n 50
    exit 1
fi
echo "format: ${#files[@]} files are formatted"
