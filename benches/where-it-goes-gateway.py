#!/usr/bin/env python3
"""The gateway's processor time by component, in ns per packet. `PROFILE=yes benches/gateway-flows.sh` runs this script:
perf samples the process's processor time (`cpu-clock`), and the kernel reports the time of its BPF programs.

    benches/where-it-goes-gateway.py samples PERF.DATA         one JSON line: shares of the process's time by component
    benches/where-it-goes-gateway.py programs PID              one JSON line: time of the process's BPF programs so far
    benches/where-it-goes-gateway.py table RUNS ROOMS          the table; each of the two files has one line per run
"""

import collections
import glob
import json
import re
import statistics
import subprocess
import sys

# The first pattern that matches a frame of the call chain names the component; the search starts at the innermost frame.
INNERMOST = [
    (r"bpf_prog_|bpf_dispatcher|cls_bpf|tcf_|tc_run", "kernel half: BPF programs"),
    (r"copy_to_iter|copy_from_iter|copy_(to|from)_user|rep_movs|memcpy|memmove", "copies"),
    (r"asm_exc_page_fault", "memory"),
]
SYSTEM_CALLS = [
    (r"tun_do_read|tun_chr_read|do_readv|buffer::Buffers::read_with", "TAP reads"),
    (r"tun_get_user|tun_chr_write|do_writev", "TAP writes, and forwarding of the written packets"),
    (r"sys_p?poll|sys_epoll", "waiting"),
    (r"sys_bpf$", "BPF maps, by system call"),
    (r"asm_sysvec|asm_common_interrupt|do_softirq", "interrupts"),
    (r"sys_|do_syscall", "other system calls"),
]
OURS = [
    (r"lasthop_schemes|lasthop_agent(?!::slab)|<dyn lasthop_agent", "agent"),
    (r"lasthop_packet|lasthop_gateway::frame", "packets: reading and writing headers"),
    (r"aya::|divert::ring", "the ring"),
    (r"malloc|free|realloc|lasthop_gateway::buffer|bytes::", "memory"),
    (r"lasthop_", "engine: tables, rules, loop"),
]


def room(chain):
    """The component of a sample, by the functions on the stack, innermost first."""
    if chain and chain[0][1]:
        for patterns in (INNERMOST, SYSTEM_CALLS):
            for pattern, name in patterns:
                if any(re.search(pattern, function) for function, _ in chain):
                    return name
        return "other kernel functions"
    function = chain[0][0] if chain else ""
    for patterns in (INNERMOST[1:2], OURS):
        for pattern, name in patterns:
            if re.search(pattern, function):
                return name
    return "the standard library"


def samples(data):
    told = subprocess.run(
        ["perf", "script", "-i", data, "-F", "ip,sym,dso"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    ).stdout
    found = collections.Counter()
    for sample in told.split("\n\n"):
        chain = []
        for line in sample.splitlines():
            if match := re.match(r"\s*[0-9a-f]+ (.*) \(([^()]*(?:\([^()]*\))?)\)$", line):
                function, of = match.groups()
                chain.append((function, "kernel" in of or of.startswith("bpf_prog") or of == "[unknown]" and "bpf_prog" in function))
        if chain:
            found[room(chain)] += 1
    total = sum(found.values())
    return {name: count / total for name, count in found.items()}


def programs(pid):
    ns = runs = 0
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            info = open(path).read()
        except OSError:
            continue
        if time := re.search(r"^run_time_ns:\s*(\d+)", info, re.M):
            ns += int(time[1])
            runs += int(re.search(r"^run_cnt:\s*(\d+)", info, re.M)[1])
    return {"ns": ns, "runs": runs}


def table(runs, profiles):
    rows = {}
    for run, profile in zip(map(json.loads, open(runs)), map(json.loads, open(profiles))):
        ns = 1e9 * run["cpu_s"] / max(run["frames"], 1)
        rooms = {name: share * ns for name, share in profile["rooms"].items()}
        rows.setdefault((run["burst"], run["flows"]), []).append((ns, rooms, profile["bpf_ns_a_run"]))
    names = sorted({name for of in rows.values() for _, rooms, _ in of for name in rooms})
    middle = lambda of, value: statistics.median(map(value, of))
    order = sorted(names, key=lambda name: -max(middle(of, lambda run: run[1].get(name, 0)) for of in rows.values()))
    print("| ns per packet | " + " | ".join(f"{flows} connections, bursts of {burst}" for burst, flows in rows) + " |\n|---" + "|---:" * len(rows) + "|")
    for name in order:
        cells = [middle(of, lambda run: run[1].get(name, 0)) for of in rows.values()]
        if max(cells) >= 5:
            print(f"| {name} | " + " | ".join(f"{cell:,.0f}" for cell in cells) + " |")
    print("| the process in total | " + " | ".join(f"{middle(of, lambda run: run[0]):,.0f}" for of in rows.values()) + " |")
    print("| a run of a BPF program, in any process | " + " | ".join(f"{middle(of, lambda run: run[2]):,.0f}" for of in rows.values()) + " |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["samples", data]:
            print(json.dumps(samples(data)))
        case ["programs", pid]:
            print(json.dumps(programs(pid)))
        case ["table", runs, profiles]:
            table(runs, profiles)
        case _:
            sys.exit(__doc__)
