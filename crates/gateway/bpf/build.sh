#!/bin/sh
# Compiles divert.bpf.c to the objects that the crate loads, one for each byte order, and records the compiler's version.
#
#     crates/gateway/bpf/build.sh [DIRECTORY]     (default: beside the source, where they are committed)
#
# crates/gateway/tests/bpf_object.rs holds that the committed objects are what the source compiles to.
set -eu
cd "$(dirname "$0")"
to=${1:-.}
clang=${CLANG:-clang}
for order in el eb; do
    # The oldest instruction set: every kernel that has the rest runs it. No -g and no identification: nothing of this machine gets into
    # the object.
    "$clang" -target bpf$order -mcpu=v1 -O2 -Wall -Werror -ffreestanding -fno-ident -fno-addrsig \
        -c divert.bpf.c -o "$to/divert.bpf$order.o"
done
"$clang" -dumpversion > "$to/clang-version"
