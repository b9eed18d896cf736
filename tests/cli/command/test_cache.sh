# SPDX-License-Identifier: Apache-2.0
# ptxgen cache: what it says of a cache directory, what it removes, what it refuses. Entries are made by hand here; what
# a GPU leaves there is the same format (tests/unit/base/test_cache.c writes and reads it).
source "$(dirname "$0")/../cli.bash"

cache=$dir/cache
export CLUSTERJIT_CACHE_DIR=$cache
mkdir -m 700 "$cache"
name=00112233445566778899aabbccddeeff

gives "$cache: 0 entries, 0B" cache
gives "$cache: 0 entries, 0B, all whole" cache verify

echo damaged >"$cache/$name.cj"
echo mine >"$cache/notes.txt"
echo left >"$cache/.new-00112233445566778899aabb"
chmod 600 "$cache/$name.cj"
gives '(damaged)' cache ls
gives 'KEY ' cache ls
gives "$cache: 1 entry, 8B" cache ls
run cache verify
[[ $code == 1 ]] || failed "cache verify" "exit code $code, not 1"
[[ $(<"$dir/out") == *"$name is damaged: it is shorter than an entry's head"* ]] || failed "cache verify" "not named"
run cache verify --json
[[ $code == 1 && $(<"$dir/out") == *'"damaged": 1'* ]] || failed "cache verify --json" "exit code $code"
gives '"damage": "it is shorter than' cache ls --json
[[ -e $cache/$name.cj ]] || failed "cache verify" "it removed the entry"

gives "$cache: removed 1 entry, 13B" cache clear
[[ -e $cache/notes.txt && ! -e $cache/$name.cj && ! -e $cache/.new-00112233445566778899aabb ]] ||
    failed "cache clear" "it left ours, or took another's"
gives '"removed": 0' cache clear --json

# A directory that others may write into holds nothing to be trusted, and is not ours to clear.
chmod 755 "$cache"
for action in ls verify clear; do
    refuses 2 "the cache directory $cache has owner $(id -u) and mode 0755" cache $action
done
chmod 700 "$cache"
ln -s "$cache" "$dir/link"
CLUSTERJIT_CACHE_DIR=$dir/link refuses 2 "symbolic link" cache clear
CLUSTERJIT_CACHE_DIR=$dir/none gives "$dir/none: 0 entries" cache
[[ ! -e $dir/none ]] || failed cache "it made the directory"
CLUSTERJIT_CACHE_DIR='' gives 'switched off' cache
CLUSTERJIT_CACHE_DIR='' gives '"directory": null' cache ls --json
unset CLUSTERJIT_CACHE_DIR XDG_CACHE_HOME
HOME='' refuses 2 "CLUSTERJIT_CACHE_DIR is not set, and neither XDG_CACHE_HOME nor HOME" cache
XDG_CACHE_HOME=$dir gives "$dir/clusterjit: 0 entries" cache
refuses 64 "'lost' is none of ls, verify, clear" cache lost
refuses 64 "one action too many" cache ls clear
gives 'Usage: ptxgen cache' cache --help

finish
