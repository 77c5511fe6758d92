# To be sourced first by scripts of this directory: --help, checks of the arguments before any measurement, and one
# measurement at a time.

complain() {
    echo "$0: $1" >&2
    exit 2
}

for argument; do
    case $argument in
        # The comment at the head of the script.
        -h | --help) sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    esac
done

whole() { # NAME VALUE LEAST: a whole number
    case $2 in
        '' | *[!0-9]*) ;;
        *) [ "${#2}" -gt 9 ] || [ "$2" -lt "$3" ] || return 0 ;;
    esac
    complain "$1: \"$2\"; expected a whole number of at least $3"
}

program() { # FILE HOW: a required program, and how to get it
    [ -x "$1" ] || complain "$1 does not exist; $2"
}

alone() { # waits until no other measurement runs: two at once would both be wrong
    exec 9> "/tmp/lasthop-benches.$(id -u).lock"
    flock -n 9 || { echo "waiting for another measurement on this machine to end" >&2; flock 9; }
}
