#!/usr/bin/env bash
# router.sh: the command for routers with little flash, as packaging/openwrt/Makefile builds it but for this architecture, and
# its size.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(uname -m)-unknown-linux-musl
cargo build --profile small --locked --quiet --target "$target" -p lasthop-cli --no-default-features --features router --bin lasthop-router
binary=target/$target/small/lasthop-router
"$binary" gateway --print-default-config > target/router.toml
# 1: a start would fail on this machine, for example because it has no Wi-Fi. Only 2 is about the file.
"$binary" gateway --check target/router.toml || [ $? -eq 1 ]
echo "$binary: $(stat -c %s "$binary") octets, compressed $(gzip -9 < "$binary" | wc -c)"
