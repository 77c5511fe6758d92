#!/bin/sh
# Measures how late the emulator is at 48 Mbit/s of UDP each way, with packets of 1500 octets, and with TCP.
# Needs root, iperf3 and `cargo build --release -p lasthop-cli`.
#
#   benches/emulator-lateness.sh [SECONDS] [OPTIONS OF lasthop emulate, such as --no-fifo or --spin]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
lasthop=${LASTHOP:-$here/../target/release/lasthop}
seconds=10
case ${1:-} in [0-9]*) seconds=$1; shift ;; esac

measure() {
    # In its own network namespace: the machine's network does not change.
    timeout $((seconds + 20)) unshare --net sh -euc '
        lasthop=$1 link=$2 seconds=$3 options=$4; shift 4
        ip link set lo up
        iperf3 --server >/dev/null 2>&1 & server=$!
        trap "kill $server" EXIT
        sleep 0.3
        "$lasthop" emulate "$link" $options -- iperf3 --client server --time "$seconds" "$@" 2>&1 >/dev/null |
            grep "^lasthop: .* s; "
    ' sh "$lasthop" "$here/emulator-lateness.toml" "$seconds" "$options" "$@"
}

options="$*"
printf 'UDP, 48 Mbit/s each way: '; measure --udp --bitrate 48M --length 1448 --bidir
printf 'TCP, download:           '; measure --reverse
