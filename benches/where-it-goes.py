#!/usr/bin/env python3
"""The instructions of a simulation by component, per delivered segment.

    benches/where-it-goes.py wired | wired linux | cell 1 | cell 20       programs of crates/sim/examples
    benches/where-it-goes.py SCENARIO SCHEME [SET...]                      as `lasthop run`, of segments of 1000 octets

Needs valgrind and binutils. Instructions are counted between two run lengths, so that start-up does not count. An
instruction that was inlined from the standard library counts for the line of lasthop into which it was inlined. The
instructions of the allocator and memcpy are "memory".
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# The first pattern that matches a path names its component.
ROOMS = [
    (r"(sim/src/schedule|link/src/upcoming)", "scheduled events"),
    (r"(sim/src/(cells|wireless)|(wifi|aodv)/src/)", "802.11 and wireless hops"),
    (r"(sim/src/(wired|queue|flight|capacity|delay)|link/src/)", "wired links and queues"),
    (r"sim/src/", "world: routes, hosts, accounts"),
    (r"tcp/src/connection/receive|tcp/src/reassembly", "TCP: receiving"),
    (r"tcp/src/(recovery|retransmission_queue)", "TCP: recovery"),
    (r"tcp/src/congestion", "TCP: congestion control"),
    (r"tcp/src/", "TCP: sending, acknowledging"),
    (r"packet/src/", "packets"),
    (r"(agent|hop|schemes)/src/", "agents"),
    (r"crates/", "other crates of lasthop"),
]
ENVIRONMENT = {**os.environ, "CARGO_PROFILE_RELEASE_DEBUG": "line-tables-only"}


def main(arguments):
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    for tool in ("valgrind", "addr2line"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not installed; instructions are not counted")
    program, command, packets, lengths = plan(arguments)
    counts, delivered = [], []
    for length in lengths:
        instructions, output = count([program, *command(length)])
        counts.append(instructions)
        delivered.append(packets(output))
    segments = delivered[1] - delivered[0]
    each = collections.Counter(counts[1])
    each.subtract(counts[0])
    show(rooms(program, each), segments)


def plan(arguments):
    """The program, its arguments for a run length, the parser of what it has delivered, two run lengths in seconds."""
    target = os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "where-it-goes")
    build = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", target]
    if not os.path.exists(arguments[0]):
        subprocess.run([*build, "-p", "lasthop-sim", "--example", arguments[0]], env=ENVIRONMENT, check=True)
        program = os.path.join(target, "release/examples", arguments[0])
        lengths = (2, 6) if arguments[0] == "cell" else (10, 40)
        return program, lambda length: [*arguments[1:], str(length)], int, lengths
    subprocess.run([*build, "-p", "lasthop-cli"], env=ENVIRONMENT, check=True)
    settings = [word for setting in arguments[2:] for word in ("--set", setting)]

    def command(length):
        return ["run", arguments[0], "--scheme", arguments[1], *settings, "--json", "--set", f"duration={length} s"]

    def segments(output):
        return sum(flow["bytes"] for flow in json.loads(output)["flows"]) // 1000

    return os.path.join(target, "release/lasthop"), command, segments, (2, 6)


def count(command):
    """Instructions of a run by address, and its output. The address is None outside the program."""
    with tempfile.NamedTemporaryFile(suffix=".callgrind") as file:
        valgrind = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--dump-line=no", "--demangle=no"]
        run = subprocess.run(
            [*valgrind, f"--callgrind-out-file={file.name}", *command],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
        )
        with open(file.name) as lines:
            return parse(lines, os.path.basename(command[0])), run.stdout


def parse(lines, program):
    """Instructions by address in the program; those of other objects are under None."""
    costs, names = collections.Counter(), {}
    address, is_ours, is_call = 0, False, False
    for line in lines:
        if match := re.match(r"(ob|cob)=\((\d+)\)(?: (.*))?", line):
            kind, number, name = match.groups()
            if name:
                names[number] = os.path.basename(name)
            if kind == "ob":
                is_ours = names[number] == program
        elif line.startswith("calls="):
            is_call = True
        elif match := re.match(r"(0x[0-9a-f]+|[+-]\d+|\*) (\d+)$", line):
            place, cost = match.groups()
            if place.startswith("0x"):
                address = int(place, 16)
            elif place != "*":
                address += int(place)
            if not is_call:
                costs[address if is_ours else None] += int(cost)
            is_call = False
    return costs


def rooms(program, costs):
    """Instructions by component."""
    addresses = [address for address in costs if address is not None and costs[address] > 0]
    query = "".join(f"{address:#x}\n" for address in addresses)
    told = subprocess.run(
        ["addr2line", "-a", "-i", "-e", program], input=query, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    found = collections.Counter({"memory": costs[None]})
    address, is_found = 0, True
    for line in told.splitlines():
        if line.startswith("0x"):
            address, is_found = int(line, 16), False
        elif not is_found and "/crates/" in line:
            found[room(line)] += costs[address]
            is_found = True
    found["the standard library"] += sum(costs.values()) - sum(found.values())
    return found


def room(path):
    return next(name for pattern, name in ROOMS if re.search(pattern, path))


def show(found, segments):
    total = sum(found.values())
    print("| component | instructions per delivered segment | share |\n|---|---|---|")
    for name, cost in found.most_common():
        if cost * 200 > total:
            print(f"| {name} | {cost / segments:,.0f} | {100 * cost / total:.0f}% |")
    print(f"| all | {total / segments:,.0f} | |")


main(sys.argv[1:])
