#!/usr/bin/env bash
# deb.sh [REVISION]: the Debian package, in target/debian, from the release build. Needs dpkg and `cargo install --locked cargo-deb`.
set -euo pipefail
cd "$(dirname "$0")/.."
revision=${1:-1}
# The same source gives the same package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
if ! cargo deb --version > /dev/null 2>&1; then
    echo "deb.sh needs cargo-deb: cargo install --locked cargo-deb" >&2
    exit 1
fi
cargo build --release --locked --quiet -p lasthop-cli
binary=target/release/lasthop
version=$("$binary" --version | cut -d ' ' -f 2)
rm -rf target/package
packaging/stage.sh "$binary" target/package/usr /usr

cat > target/package/changelog << END
lasthop ($version-$revision) unstable; urgency=medium

  * /usr/share/doc/lasthop/changelog.gz lists the changes of each version.

 -- $(sed -n 's/^maintainer = "\(.*\)"$/\1/p' crates/cli/Cargo.toml)  $(LC_ALL=C date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END
cargo deb --quiet --no-build --locked -p lasthop-cli --deb-revision "$revision" > /dev/null
ls "target/debian/lasthop_$version-${revision}_$(dpkg --print-architecture).deb"
