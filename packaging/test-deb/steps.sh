#!/usr/bin/env bash
# steps.sh: the test itself, in the private root: a server and a client in network namespaces, and this router between them.
set -euo pipefail
export PATH=/mnt:$PATH DEBIAN_FRONTEND=noninteractive
fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { eval "$1" > /dev/null || fail "$2"; }
# soon COMMAND MESSAGE: the same, within ten seconds.
soon() {
    for _ in $(seq 100); do
        eval "$1" > /dev/null && return
        sleep 0.1
    done
    fail "$2"
}
# Triggers bring databases up to date, such as the index of all manual pages.
dpkg() { command dpkg --no-triggers "$@"; }

hosts() {
    ip link set lo up
    for host in server client; do
        unshare --net sleep infinity &
        eval "$host=$!"
    done
    # Until each has its own namespace.
    until [ "$(readlink /proc/$server/ns/net)" != "$(readlink /proc/self/ns/net)" ] &&
        [ "$(readlink /proc/$client/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
    link wired0 10.1.0 "$server"
    link radio0 10.2.0 "$client"
    echo 1 > /proc/sys/net/ipv4/ip_forward
    nsenter --net=/proc/$server/ns/net /mnt/transfer.py serve &
}
# link NAME PREFIX PROCESS: an interface of this router, and the host at its other end.
link() {
    ip link add "$1" type veth peer name eth0 netns "/proc/$3/ns/net"
    ip addr add "$2.1/24" dev "$1"
    ip link set "$1" up
    nsenter --net="/proc/$3/ns/net" sh -c "ip link set lo up; ip addr add $2.2/24 dev eth0; ip link set eth0 up; ip route add default via $2.1"
}

mkdir -p /run/systemd/system
dpkg -i /mnt/first.deb
expect 'lasthop --version' 'the command does not run'
expect '! grep -E "start|enable" /mnt/asked' 'an installation starts or enables the service'
expect '[ ! -e /etc/systemd/system/multi-user.target.wants/lasthop-gateway.service ]' 'the service is enabled'
expect 'man -w lasthop-gateway.toml' 'the manual has no page of the configuration'
expect 'grep -q "Where to run it" /usr/share/doc/lasthop/docs/src/where.md' 'the package has no documents'
expect 'lasthop compare /usr/share/doc/lasthop/scenarios/first-look.toml --seeds 1' 'the package has no examples'
if command -v systemd-analyze > /dev/null; then
    systemd-analyze verify --man=no /usr/lib/systemd/system/lasthop-gateway.service
fi
dpkg -i /mnt/first.deb > /dev/null
expect '[ ! -e /mnt/pid ]' 'an upgrade starts a service that did not run'

hosts
sed -i 's/^#radio = .*/radio = ["radio0"]/' /etc/lasthop/gateway.toml
systemctl start lasthop-gateway.service
cat /mnt/checked
before=$(cat /mnt/pid)
nsenter --net=/proc/$client/ns/net /mnt/transfer.py fetch 10.1.0.2 &
transfer=$!
soon 'lasthop gateway flows | grep 10.1.0.2:8080' 'the gateway does not have the connection'
dpkg -i /mnt/second.deb
[ "$(cat /mnt/pid)" != "$before" ] || fail 'an upgrade does not restart the service'
[ "$(readlink "/proc/$(cat /mnt/pid)/exe")" = /usr/bin/lasthop ] || fail 'the service runs another binary than the new one'
expect 'grep "radio = ..radio0" /etc/lasthop/gateway.toml' 'an upgrade changes the configuration'
soon 'lasthop gateway flows | grep 10.1.0.2:8080' 'the new gateway does not have the connection'
expect 'lasthop gateway status --json | grep "\"taken_over\": 1,"' 'the old gateway did not leave the connection to the new one'
touch /mnt/enough
wait "$transfer" || fail 'the transfer did not survive the upgrade'

dpkg -r lasthop
[ ! -e /mnt/pid ] || fail 'a removal does not stop the service'
[ -z "$(tc filter show dev radio0 ingress)" ] || fail 'a removal leaves filters'
[ -e /etc/lasthop/gateway.toml ] || fail 'a removal takes the configuration away'
dpkg -P lasthop
