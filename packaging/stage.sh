#!/bin/sh
# stage.sh BINARY TREE PREFIX: puts a built lasthop, and everything that belongs to it, into the new directory TREE, in the
# places that they have below PREFIX once they are installed.
set -eu
binary=$1 tree=$2 prefix=$3
repository=$(dirname "$0")/..
# Where zsh looks: Debian has a directory of its own for packages.
case $prefix in
    /usr) zsh=zsh/vendor-completions ;;
    *) zsh=zsh/site-functions ;;
esac

mkdir -p "$(dirname "$tree")"
mkdir "$tree"
install -D -m 755 "$binary" "$tree/bin/lasthop"
"$binary" man "$tree/share/man" > "$tree/said"
rm "$tree/said"
completion() {
    mkdir -p "$tree/share/$(dirname "$2")"
    "$binary" completions "$1" > "$tree/share/$2"
}
completion bash bash-completion/completions/lasthop
completion zsh "$zsh/_lasthop"
completion fish fish/vendor_completions.d/lasthop.fish

mkdir -p "$tree/lib/systemd/system" "$tree/share/lasthop" "$tree/share/doc/lasthop"
sed "s|/usr/bin/lasthop|$prefix/bin/lasthop|" "$repository/packaging/lasthop-gateway.service" \
    > "$tree/lib/systemd/system/lasthop-gateway.service"
cp "$repository/packaging/gateway.schema.json" "$tree/share/lasthop"
cp -R "$repository/scenarios" "$repository/packaging/grafana" "$repository/packaging/prometheus" "$tree/share/lasthop"
# Links between documents work as in the repository.
cp -R "$repository/docs" "$tree/share/doc/lasthop/docs"
rm -rf "$tree/share/doc/lasthop/docs/book"
cp -R "$repository/scenarios" "$tree/share/doc/lasthop"
cp "$repository/README.md" "$repository/CHANGELOG.md" "$repository/LICENSE-MIT" "$repository/LICENSE-APACHE" \
    "$tree/share/doc/lasthop"
find "$tree" -type d -exec chmod 755 {} +
find "$tree" -type f ! -path "$tree/bin/*" -exec chmod 644 {} +
