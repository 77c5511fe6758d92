#!/usr/bin/env bash
# machine.sh SCRATCH: run by test-deb.sh in namespaces of its own. Makes a root directory whose changes are all in one place,
# runs the test in it, and looks for what the package left there.
set -euo pipefail
scratch=$1
mount --make-rprivate /
mkdir "$scratch/memory" "$scratch/root"
mount -t tmpfs tmpfs "$scratch/memory"
mkdir "$scratch/memory/changes" "$scratch/memory/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/memory/changes,workdir=$scratch/memory/work" "$scratch/root"
mount -t proc proc "$scratch/root/proc"
mount -t sysfs sysfs "$scratch/root/sys"
mount --rbind /dev "$scratch/root/dev"
mount -t tmpfs tmpfs "$scratch/root/run"
mount -t tmpfs tmpfs "$scratch/root/mnt"
cp "$scratch"/*.deb "$scratch"/*.sh "$scratch"/*.py "$scratch/systemctl" "$scratch/root/mnt"
# A container's machine may refuse to start services.
printf '#!/bin/sh\n' > "$scratch/root/usr/sbin/policy-rc.d"
chmod 755 "$scratch/root/usr/sbin/policy-rc.d"

chroot "$scratch/root" /mnt/steps.sh

# What dpkg keeps of every package, and what its triggers write anew.
left=$(
    cd "$scratch/memory/changes"
    find . ! -type d ! -path './var/lib/dpkg/*' ! -path './var/cache/*' ! -path './var/log/*' ! -path ./usr/sbin/policy-rc.d
    find . "$scratch/root/run" -name '*lasthop*' ! -path './var/lib/dpkg/*'
    find ./var/lib/dpkg/info -name 'lasthop*'
)
if [ -n "$left" ]; then
    printf 'FAILED: a purge leaves\n%s\n' "$left" >&2
    exit 1
fi
echo "purged: nothing is left"
