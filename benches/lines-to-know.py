#!/usr/bin/env python3
"""How much one has to know to change a crate: its own lines, and those of the workspace's crates that it depends on.

Usage: lines-to-know.py [CRATE...]     (default: all)

Lines of Rust with comments and blank lines, tests apart: neither `tests` folders and `tests.rs` nor `#[cfg(test)]` modules
inside files.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*mod \w+ \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)


def is_test(path):
    return "tests" in path.parts or path.name in ("tests.rs", "test.rs") or path.name.endswith("_tests.rs")


def lines(folder):
    """Production lines of a crate, and its files."""
    files = [path for path in (folder / "src").rglob("*.rs") if not is_test(path.relative_to(folder))]
    return sum(len(TEST_MODULE.sub("", path.read_text()).splitlines()) for path in files), len(files)


def main():
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )
    own, uses = {}, {}
    for package in json.loads(metadata.stdout)["packages"]:
        name = package["name"].removeprefix("lasthop-")
        own[name] = lines(Path(package["manifest_path"]).parent)
        uses[name] = {
            dependency["name"].removeprefix("lasthop-")
            for dependency in package["dependencies"]
            if dependency["kind"] is None and dependency["name"].startswith("lasthop-")
        }

    def below(name):
        found = set()
        waiting = list(uses[name])
        while waiting:
            crate = waiting.pop()
            if crate not in found:
                found.add(crate)
                waiting.extend(uses[crate])
        return found

    unknown = [name for name in sys.argv[1:] if name not in own]
    if unknown:
        sys.exit(f"unknown crate {unknown[0]!r}; expected one of: {', '.join(sorted(own))}")
    print(f"{'crate':<10} {'files':>6} {'own':>7} {'with all below':>15} {'above packet, agent, tcp':>25}")
    for name in sorted(sys.argv[1:] or own, key=lambda name: len(below(name))):
        all_below = below(name)
        total = own[name][0] + sum(own[crate][0] for crate in all_below)
        above = total - sum(own[crate][0] for crate in all_below & {"packet", "agent", "tcp"})
        print(f"{name:<10} {own[name][1]:>6} {own[name][0]:>7} {total:>15} {above:>25}")
    print(f"{'all':<10} {sum(files for _, files in own.values()):>6} {sum(count for count, _ in own.values()):>7}")


main()
