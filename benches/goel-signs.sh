#!/usr/bin/env bash
# Whether the sign of a small improvement of Simple ICMP in Goel's thesis is more than chance: the five settings
# whose published sign `lasthop reproduce goel` does not have, in runs that differ in the seed of the wireless
# link alone. Prints for each setting the published improvement, the mean and the standard deviation of one run,
# and how many runs have the published sign. Needs python3. LASTHOP names another binary than that of this source.
#
#   benches/goel-signs.sh [RUNS [MEAN-BAD-STAY]]        default 150, 0.1 s
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 > /dev/null || { echo "SKIPPED: python3 is not installed" >&2; exit 0; }
. benches/trial.sh
python3 - "$lasthop" "$scratch" "${1:-150}" "${2:-0.1}" << 'PYTHON'
import json, os, statistics, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

lasthop, scratch, runs, bad = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
template = open("scenarios/goel/figure-5.1/datafile.dat").read()
# Table, delay of the wired link in ms, window in KB, published improvement in percent.
settings = [("5.4", 100, 48, -0.65), ("5.7", 75, 32, 1.83), ("5.7", 75, 48, -1.17), ("5.10", 50, 8, 1.46), ("5.10", 50, 16, 0.64)]

def completion(delay, window, seed, scheme):
    changes = {"latency = 492": f"latency = {delay}", "recv_wnd_size = 16": f"recv_wnd_size = {window}",
               "bad_state = 0.1 ": f"bad_state = {bad} ", "random_seed = 3": f"random_seed = {seed}"}
    text = template
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file = os.path.join(scratch, f"{delay}-{window}-{seed}-{scheme}.dat")
    with open(file, "w") as out:
        out.write(text)
    printed = subprocess.run([lasthop, "run", file, "--scheme", scheme, "--json"], check=True, capture_output=True).stdout
    os.remove(file)
    return json.loads(printed)["aggregate"]["completion_s"]

for table, delay, window, published in settings:
    def improvement(seed):
        unmodified, simple = (completion(delay, window, seed, scheme) for scheme in ("none", "simple-icmp"))
        return (1 - simple / unmodified) * 100
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        of_runs = list(pool.map(improvement, range(1, runs + 1)))
    mean, deviation = statistics.mean(of_runs), statistics.stdev(of_runs)
    signs = sum((one > 0) == (published > 0) for one in of_runs)
    print(f"table {table}, {window} KB: published {published}%; mean {mean:.2f} ± {1.96 * deviation / runs ** 0.5:.2f}%, "
          f"deviation {deviation:.1f}; the published sign in {signs} of {runs} runs", flush=True)
PYTHON
