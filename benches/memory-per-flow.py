#!/usr/bin/env python3
"""Memory of a simulation per flow: `lasthop run` with 10, 1,000 and 5,000 TCP flows over one path.

    benches/memory-per-flow.py [FLOWS...]     LASTHOP=/path/to/another binary

Octets of resident memory per flow, beyond those of the smallest number of flows and including its packets in flight. A
file has room for 5,000 flows.
"""

import argparse
import os
import subprocess
import sys
import tempfile

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LASTHOP = os.environ.get("LASTHOP")
HEAD = """
description = "Many flows."
duration = "2 s"
schemes = ["none"]
[nodes.source]
kind = "host"
[nodes.router]
kind = "router"
[nodes.sink]
kind = "host"
[links.fast]
between = ["source", "router"]
rate = "1 Gbit/s"
delay = "20 ms"
[links.slow]
between = ["router", "sink"]
rate = "100 Mbit/s"
delay = "5 ms"
queue = "500 packets"
"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("flows", nargs="*", type=flows_of, metavar="FLOWS", help="1 to 5000; default 10 1000 5000")
    flows = sorted(arguments.parse_args().flows) or [10, 1_000, 5_000]
    lasthop = LASTHOP or os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release/lasthop")
    if not LASTHOP:
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "-p", "lasthop-cli"], check=True)
    print("| flows | resident, MB | octets per flow |\n|---:|---:|---:|")
    least = None
    for count in flows:
        resident = measure(lasthop, count)
        each = "" if least is None else f"{(resident - least[1]) / (count - least[0]):,.0f}"
        least = least or (count, resident)
        print(f"| {count:,} | {resident / 1e6:.1f} | {each} |", flush=True)


def flows_of(text):
    if not text.isdigit() or not 1 <= int(text) <= 5000:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number from 1 to 5000")
    return int(text)


def measure(lasthop, count):
    """Peak resident memory in octets."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(HEAD)
        file.writelines(f'[flows.f{number}]\nfrom = "source"\nto = "sink"\n' for number in range(count))
        file.flush()
        process = subprocess.Popen([lasthop, "run", file.name, "--json"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{count} flows: failed")
        return 1024 * usage.ru_maxrss


if __name__ == "__main__":
    main()
