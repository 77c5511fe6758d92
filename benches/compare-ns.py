#!/usr/bin/env python3
"""The simulator's speed compared with ns-2 and ns-3: delivered data packets per second of user time, and the ratios.

    benches/compare-ns.py [CASE...] [--rounds N]      CASE: wired, wifi-1, wifi-20, wifi-50; default: all
                                                      NOBUILD=1 to use the existing build

Each round of a case runs all simulators one after the other, so that a busy machine slows them alike. A ratio is the
median over the rounds, with the lowest and the highest. The scenarios are in scenarios/bench, benches/ns2 and
benches/ns3. "Stripped" is ns-2 without the unused packet headers. A simulator that is not installed is left out, with a
message. ns-3 has no wired case, and is given a tenth of the time.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
TARGET = os.environ.get("CARGO_TARGET_DIR", "target")
# Simulated seconds of ns-2. lasthop runs ten times as long, because the clock of user time is coarse.
SECONDS = {"wired": 500, "wifi-1": 300, "wifi-20": 60, "wifi-50": 30}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(SECONDS))
    arguments.add_argument("--rounds", type=rounds_of, metavar="N", default=5, help="1 to 1000; default 5")
    arguments = arguments.parse_args()
    for case in arguments.cases:
        if case not in SECONDS:
            sys.exit(f"{case}: expected one of {', '.join(SECONDS)}")
    if not os.environ.get("NOBUILD"):
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "-p", "lasthop-cli"], check=True)
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "-p", "lasthop-sim", "--example", "wired"], check=True)
    for needed in (f"{TARGET}/release/lasthop", f"{TARGET}/release/examples/wired"):
        if not os.access(needed, os.X_OK):
            sys.exit(f"{needed} is not built; run this without NOBUILD=1")
    with tempfile.TemporaryDirectory() as scratch:
        ns3 = build_ns3(scratch)
        has_ns2 = shutil.which("ns") is not None
        if not has_ns2:
            print("ns-2 (the program \"ns\") is not installed; it is left out", file=sys.stderr)
        print("| | | packets per second of CPU time | speed-up of lasthop |\n|---|---|---:|---|")
        for case in arguments.cases or SECONDS:
            compare(case, commands(case, has_ns2, ns3), arguments.rounds)


def rounds_of(text):
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number from 1 to 1000")
    return int(text)


def build_ns3(scratch):
    """The ns-3 program for uploads; None if it cannot be built."""
    program = os.path.join(scratch, "wifi-upload")
    modules = ["ns3-wifi", "ns3-mobility", "ns3-internet", "ns3-applications"]
    try:
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", *modules], check=True, capture_output=True, text=True)
        subprocess.run(["c++", "-O2", "-w", "-o", program, "benches/ns3/wifi-upload.cc", *flags.stdout.split()], check=True)
        return program
    except (OSError, subprocess.CalledProcessError):
        print("ns-3 (libns3-dev) is not installed; it is left out", file=sys.stderr)
        return None


def commands(case, has_ns2, ns3):
    """Name -> the command, and the parser that gets the packets from its output."""
    seconds = SECONDS[case]
    if case == "wired":
        ours = [f"{TARGET}/release/examples/wired", str(10 * seconds)], last_number
        ns2 = ["ns", "benches/ns2/wired.tcl", str(seconds)]
    else:
        stations = case.removeprefix("wifi-")
        ours = [f"{TARGET}/release/lasthop", "run", f"scenarios/bench/{case}.toml", "--set", f"duration={10 * seconds} s", "--json"], segments
        ns2 = ["ns", "benches/ns2/wifi.tcl", str(seconds), stations]
    runs = {"lasthop": ours}
    if has_ns2:
        runs |= {"ns-2": (ns2, last_number), "ns-2, stripped": ([*ns2, "stripped"], last_number)}
    if ns3 and case != "wired":
        runs["ns-3"] = [ns3, f"--stations={stations}", f"--seconds={max(seconds // 10, 5)}"], last_number
    return runs


def last_number(output):
    numbers = [line for line in output.splitlines() if line.strip().isdigit()]
    return int(numbers[-1]) if numbers else None


def segments(output):
    """Octets delivered, in segments of 1460."""
    return sum(flow["bytes"] for flow in find_flows(json.loads(output))) // 1460


def find_flows(value):
    """The objects with octets delivered, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from find_flows(item)
    elif isinstance(value, dict):
        if "bytes" in value:
            yield value
        else:
            yield from find_flows(list(value.values()))


def compare(case, runs, rounds):
    speeds = {name: [] for name in runs}
    failed = set()
    for _ in range(rounds):
        for name, (command, packets) in runs.items():
            if name in failed:
                continue
            with tempfile.TemporaryFile("w+") as complaints:
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True)
                output = process.stdout.read()
                _, status, usage = os.wait4(process.pid, 0)
                delivered = packets(output) if status == 0 else None
                if not delivered:
                    complaints.seek(0)
                    how = f"ended with {os.waitstatus_to_exitcode(status)}" if status else "printed no number of packets"
                    print(f"{' '.join(command)} {how}: {complaints.read().strip()[-500:]}", file=sys.stderr)
                    if name == "lasthop":
                        sys.exit(1)
                    print(f"{name} is left out of case {case}", file=sys.stderr)
                    failed.add(name)
                    continue
            speeds[name].append(delivered / usage.ru_utime)
    for name, of_rounds in speeds.items():
        if name in failed:
            continue
        ratios = [ours / theirs for ours, theirs in zip(speeds["lasthop"], of_rounds)]
        ratio = "" if name == "lasthop" else f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {case} | {name} | {statistics.median(of_rounds):,.0f} | {ratio} |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
