#!/usr/bin/env bash
# The speed-up of a sweep on all processors over one: seconds of each round, measured one after the other, and
# the median of the ratios. The last column is the number of processors in use, which the load of another
# machine on the same host does not change.
#
#   benches/sweep-cores.sh [ROUNDS]        NOBUILD=1 to use the existing build
set -euo pipefail
cd "$(dirname "$0")/.."
. benches/arguments.sh
whole ROUNDS "${1:-3}" 1
[ -n "${NOBUILD:-}" ] || cargo build --release --locked --quiet -p lasthop-cli
lasthop=${CARGO_TARGET_DIR:-target}/release/lasthop
program "$lasthop" "cargo build --release -p lasthop-cli builds it"
alone
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat > "$scratch/sweep.toml" << END
scenario = "$PWD/scenarios/snoop-uniform-loss.toml"
[vary]
"links.air.forward.loss" = ["1%", "2%", "3%", "4%", "5%", "6%", "7%", "8%", "9%", "10%", "11%", "12%"]
END
python3 - "$lasthop" "$scratch" "${1:-3}" "$(nproc)" << 'END'
import os, resource, statistics, subprocess, sys, time
lasthop, scratch, rounds, processors = sys.argv[1:]

def sweep(threads):
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(
        [lasthop, "sweep", f"{scratch}/sweep.toml", "--out", f"{scratch}/out.csv", "--overwrite"],
        env={**os.environ, "RAYON_NUM_THREADS": threads}, stderr=subprocess.DEVNULL, check=True,
    )
    took = time.monotonic() - began
    return took, (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / took

print(f"| one processor, s | {processors}, s | speed-up | in use |\n|---:|---:|---:|---:|")
ratios, used = [], []
for _ in range(int(rounds)):
    (one, _), (all_of_them, in_use) = sweep("1"), sweep(processors)
    ratios.append(one / all_of_them)
    used.append(in_use)
    print(f"| {one:.2f} | {all_of_them:.2f} | {ratios[-1]:.2f} | {in_use:.2f} |")
print(f"median {statistics.median(ratios):.2f}, {statistics.median(used):.2f} in use")
END
