#!/bin/sh
# A whole campaign from the shell: three coins, which come up heads at least half of the time?
#     sh examples/live_shell.sh coins.db
set -eu
store="sqlite:///${1:-coins.db}"

goodarm campaign create "$store" coins --arms "fair-ish,loaded,unlucky" --threshold 0.5 --delta 0.1

# "toss" takes the place of the real experiment: it reads lines `ticket arm` and writes lines `ticket reward`
toss() {
    awk '{ heads["fair-ish"] = 3; heads["loaded"] = 9; heads["unlucky"] = 1
           n[$2]++; print $1, (n[$2] % 10 < heads[$2]) ? 1 : 0 }'
}

round=0
while [ "$round" -lt 30 ]; do
    tickets=$(goodarm campaign ask "$store" coins -n 20)
    [ -z "$tickets" ] && break
    printf '%s\n' "$tickets" | toss | goodarm campaign tell "$store" coins
    round=$((round + 1))
done

goodarm campaign verdicts "$store" coins
goodarm campaign check "$store" coins
