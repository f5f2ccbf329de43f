#!/bin/sh
# Runs bogofilter's own test scripts on tamis. They are fetched each time (Debian's source package, by a private
# configuration of apt in a temporary folder) and never kept.
#
#   own_tests.sh TAMIS [NAME...]    the program, and which scripts, by default those that must pass
#
# Prints a line for each script. Exit status: 0 all passed, 1 some failed, 77 skipped, since something is missing.
set -eu

tamis=$(readlink -f "$1")
shift
# What depends on the command line, the header and the files, and not on bogofilter's own words, numbers and database.
[ $# -gt 0 ] || set -- t.env t.nullstatsprefix t.integrity t.integrity2 t.integrity3 t.ignore_spam_header \
    t.passthrough-truncation t.crash-invalid-base64 t.lock1 t.lock3 t.score2 t.passthrough-hb t.spam.header.place \
    t.bogodir t.query.config t.longoptions t.message_id t.message_addr t.queue_id t.score1

skip() {
    echo "skipped: $*"
    exit 77
}
for tool in apt-get cc tar xz awk perl bogoutil bogolexer bogotune; do
    command -v "$tool" > /dev/null || skip "$tool is not installed"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# names of its own in the shell that runs this must not reach the scripts
unset BOGOFILTER_DIR BOGOTEST 2> /dev/null || :

mkdir -p "$work/apt/parts" "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/bin" "$work/source"
echo "deb-src ${BOGOFILTER_SOURCE:-[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main}" \
    > "$work/apt/sources.list"
apt() {
    apt-get -qq -o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts="$work/apt/parts" \
        -o Dir::State::lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}
(cd "$work/source" && apt update && apt source --download-only bogofilter) > "$work/apt.log" 2>&1 \
    || skip "the source of bogofilter could not be fetched: $(tail -1 "$work/apt.log")"
tar -xf "$work"/source/bogofilter_*.orig.tar.* -C "$work/source"
cd "$work"/source/bogofilter-*/src/tests

for helper in dehex dumbhead escnp spam_header_name; do
    : > config.h
    cc -w -I. -DSPAM_HEADER_NAME='"X-Bogosity"' -o "$helper" "$helper.c"
done
sed 's/@ENCODING@/utf-8/; s/@DEFAULT_CHARSET@/iso-8859-1/' t.query.config.in > t.query.config
# they compare fields of the header, not how sure tamis is of a message (.9875 where bogofilter wants .99)
sed -i 's/^header_format=/spam_cutoff=0.95\n&/' t.message_id t.message_addr t.queue_id
printf 'EXE_EXT=\nDB_TYPE=db\nDB_EXT=db\n' > t.config
ln -s "$tamis" "$work/bin/bogofilter"
for tool in bogoutil bogolexer bogotune; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done

failed=0
for name; do
    status=0
    env RUN_FROM_MAKE=1 AWK=awk srcdir=. relpath="$work/bin" SHELL=/bin/sh BF_TESTDIR="$work" HOME="$work" \
        timeout 300 sh "./$name" > "$work/log" 2>&1 || status=$?
    case $status in
        0) echo "pass $name" ;;
        77) echo "skip $name" ;;
        *)
            echo "fail $name"
            sed 's/^/    /' "$work/log" | tail -20
            failed=1
            ;;
    esac
done
exit $failed
