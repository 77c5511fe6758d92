#!/usr/bin/env bash
# PEPsal in the place of a gateway, for `lasthop try ... --beside pepsal=benches/pepsal.sh`. It takes over all
# TCP connections that arrive at the edge's interfaces, in either direction. PEPSAL=/path/to/pepsal names the
# program if it is not on the path. `lasthop try` runs this script on the edge, passes the interfaces in
# LASTHOP_CORE and LASTHOP_RADIO, waits for a line on standard output, and kills the script at the end.
set -euo pipefail
pepsal=${PEPSAL:-$(command -v pepsal || true)}
[ -n "$pepsal" ] || { echo "PEPsal was not found; set PEPSAL=/path/to/pepsal" >&2; exit 1; }
ip rule add fwmark 1 lookup 100
ip route add local default dev lo table 100
for interface in $LASTHOP_CORE $LASTHOP_RADIO; do
    iptables -t mangle -A PREROUTING -i "$interface" -p tcp -j TPROXY --on-port 5000 --tproxy-mark 1
done
# PEPsal raises the hard limit of open files to 2^20 and exits silently if it may not. It needs only some tens here.
shim=
if [ "$(ulimit -Hn)" != 1048576 ] && command -v cc > /dev/null; then
    shim=$(mktemp)
    echo 'int setrlimit(int resource, const void *limit) { return 0; }' | cc -w -shared -fPIC -x c - -o "$shim"
fi
LD_PRELOAD=$shim "$pepsal" -p 5000 > /dev/null &
process=$!
sleep 0.5
kill -0 $process || { echo "PEPsal did not start" >&2; exit 1; }
echo ready
wait $process
