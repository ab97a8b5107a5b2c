#!/usr/bin/env bash
# Installs the Debian packages of tools/packages.txt: install_packages.sh GROUP...  Does nothing when all are there.
set -euo pipefail
list="$(dirname "$0")/packages.txt"
wanted=()
for group in "$@"; do
    mapfile -t -O "${#wanted[@]}" wanted < <(awk -v group="$group" '$1 == group {print $2}' "$list")
done

if ! command -v dpkg-query >/dev/null; then
    echo "packages: not a Debian system; install what matches these by hand: ${wanted[*]}" >&2
    exit 1
fi
missing=()
for package in "${wanted[@]}"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    echo "packages: all ${#wanted[@]} are installed"
    exit 0
fi

echo "packages: installing ${missing[*]}"
as_root=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "packages: needs root (no sudo here): apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@" >>"$log" 2>&1; }
if ! { apt_get update && apt_get install -y --no-install-recommends "${missing[@]}"; }; then
    cat "$log" >&2
    echo "packages: apt-get failed, its output is above" >&2
    exit 1
fi
