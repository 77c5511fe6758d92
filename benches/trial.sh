# For the benches that run `lasthop try`; to be sourced from the project's root. Sets `lasthop` (LASTHOP names
# another binary than that of this source), `first` (real-time priority, where the system allows it) and
# `scratch`, a directory that is removed when the script ends.
lasthop=${LASTHOP:-}
if [ -z "$lasthop" ]; then
    cargo build --release --locked --quiet -p lasthop-cli
    lasthop=${CARGO_TARGET_DIR:-target}/release/lasthop
fi
first=()
chrt -r 1 true 2> /dev/null && first=(chrt -r 1)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
