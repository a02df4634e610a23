#!/bin/sh
# Runs every program on stock erl: +S 1, then +S 2 twice. Reports any whose output differs between the runs, which fails,
# prints an identity of this run (a pid, a reference), or takes more than two seconds. Exit status 1 if there is one.
#
#     deterministic.sh [MODULE...]
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ERL_CRASH_DUMP=/dev/null
cd "$here" || exit 2
[ $# -gt 0 ] || set -- $(ls ./*.erl | sed 's|^\./||; s|\.erl$||')
bad=0
complain() { echo "$1"; bad=1; }
for module in "$@"; do
    erlc -o "$work" "$module.erl" || { complain "$module: does not compile"; continue; }
    for run in 1:1 2:2 3:2; do
        begun=$(date +%s%N)
        timeout 30 erl +S "${run#*:}" -noshell -pa "$work" -eval "$module:main([]), halt()" \
            >"$work/out${run%:*}" 2>&1 </dev/null || complain "$module: failed with +S ${run#*:}"
        took=$(( ($(date +%s%N) - begun) / 1000000 ))
    done
    [ "$took" -lt 2000 ] || complain "$module: takes $took ms"
    cmp -s "$work/out1" "$work/out2" && cmp -s "$work/out1" "$work/out3" || complain "$module: output differs"
    [ -s "$work/out1" ] || complain "$module: prints nothing"
    ! grep -qE '<[0-9]+\.[0-9]+\.[0-9]+>|#Ref<|#Port<|#Fun<[a-z_]+\.[0-9]|REPORT====' "$work/out1" ||
        complain "$module: prints an identity or a report"
    rm -f "$work"/*
done
exit $bad
