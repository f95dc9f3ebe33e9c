#!/bin/sh
# Runs one step of a longer recipe and notes how long it took.
# Usage: tools/step.sh LEDGER TITLE COMMAND...   runs COMMAND, adds its time to the file LEDGER
#        tools/step.sh LEDGER                    prints the times noted in LEDGER, and their sum
set -eu
ledger=$1
if [ $# -eq 1 ]; then
  awk -F '\t' '{ printf "%8.1f s  %s\n", $1, $2; sum += $1 }
    END { printf "%8.1f s  in all\n", sum }' "$ledger"
  exit 0
fi
title=$2
shift 2
mkdir -p "$(dirname "$ledger")"
printf '== %s\n' "$title"
start_ns=$(date +%s%N)
status=0
"$@" || status=$?
seconds=$(awk -v ns=$(($(date +%s%N) - start_ns)) 'BEGIN { printf "%.1f", ns / 1e9 }')
printf '%s\t%s\n' "$seconds" "$title" >>"$ledger"
[ $status -eq 0 ] || printf '== %s fails with status %d after %s s\n' "$title" $status "$seconds"
exit $status
