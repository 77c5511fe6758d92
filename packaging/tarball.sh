#!/usr/bin/env bash
# tarball.sh: an archive in target/tarball with a static binary, which runs on any Linux of this architecture, and all that
# belongs to it. Needs `rustup target add` for the target below, and no C compiler but the linker of every build.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(uname -m)-unknown-linux-musl
# The same source and compiler give the same octets, wherever the source and cargo's registry are.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export RUSTFLAGS="--remap-path-prefix=$PWD=lasthop --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
CARGO_PROFILE_RELEASE_STRIP=true cargo build --release --locked --quiet --target "$target" -p lasthop-cli
binary=target/$target/release/lasthop
name=lasthop-$("$binary" --version | cut -d ' ' -f 2)-$(uname -m)-linux
rm -rf "target/tarball/$name"
packaging/stage.sh "$binary" "target/tarball/$name" /usr/local
# Files and links alone: with an entry for a directory, tar would change the modes of those of the machine.
find "target/tarball/$name" ! -type d -printf "$name/%P\0" | LC_ALL=C sort -z |
    tar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        -C target/tarball --no-recursion --null --files-from=- -c | gzip -9 -n > "target/tarball/$name.tar.gz"
rm -rf "target/tarball/$name"
ls "target/tarball/$name.tar.gz"
