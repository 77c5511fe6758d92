#!/usr/bin/env bash
# PEPsal in the place of a gateway, for `lasthop try ... --beside pepsal=benches/pepsal.sh`: takes over all TCP connections that come in by the
# edge's interfaces, in either direction. PEPSAL=/path/to/pepsal, if it is not on the path. `lasthop try` runs it on the edge, tells the
# interfaces in LASTHOP_CORE and LASTHOP_RADIO, waits for a line on standard output, and kills it in the end.
set -euo pipefail
pepsal=${PEPSAL:-$(command -v pepsal || true)}
[ -n "$pepsal" ] || { echo "PEPsal is not here; PEPSAL=/path/to/pepsal says where" >&2; exit 1; }
ip rule add fwmark 1 lookup 100
ip route add local default dev lo table 100
for interface in $LASTHOP_CORE $LASTHOP_RADIO; do
    iptables -t mangle -A PREROUTING -i "$interface" -p tcp -j TPROXY --on-port 5000 --tproxy-mark 1
done
# It wants a hard limit of 2^20 open files, and ends without a word where it may not raise it. It needs some tens here.
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
