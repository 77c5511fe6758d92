#!/usr/bin/env bash
# test-deb.sh: installs, upgrades, removes and purges the Debian package, in a private root above this machine's, while TCP passes
# through its gateway. Needs root, dpkg, cargo-deb, python3 and iproute2; uses lintian and systemd-analyze where they are
# installed. Builds nothing where target/release is current.
set -euo pipefail
cd "$(dirname "$0")/.."

leave_out() {
    if [ -n "${CI:-}" ]; then
        echo "CI must not leave this out: test-deb.sh $1" >&2
        exit 1
    fi
    echo "left out: test-deb.sh $1" >&2
    printf '%s\ttest-deb\n' "$1" >> "${LASTHOP_SKIPPED:-/dev/null}"
    exit 0
}
[ "$(id -u)" = 0 ] || leave_out "needs root for network namespaces"
for program in dpkg ip python3; do
    command -v "$program" > /dev/null || leave_out "needs $program"
done
cargo deb --version > /dev/null 2>&1 || leave_out "needs cargo-deb"
[ -e /dev/net/tun ] || leave_out "needs /dev/net/tun"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
first=$(packaging/deb.sh 1)
if command -v lintian > /dev/null; then
    lintian --allow-root --fail-on error "$first"
fi
cp "$first" "$scratch/first.deb"
# It replaces the first.
cp "$(packaging/deb.sh 2)" "$scratch/second.deb"
cp packaging/test-deb/* "$scratch"
# Whatever happens, mounts, interfaces and processes vanish with the namespaces.
unshare --mount --net --pid --fork --kill-child "$scratch/machine.sh" "$scratch"
