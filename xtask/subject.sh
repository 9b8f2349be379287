#!/usr/bin/env bash
# Checks commit messages: the subject is `area: imperative summary`, at most 60 characters, and a
# commit that changes 50 lines or more has a body.
#
#   subject.sh FILE             the message in FILE, as the commit-msg hook passes it
#   subject.sh --after COMMIT   the commits after COMMIT, merges excepted; prints a line for each bad
#                               one: hash, subject, problem. Status 3: their history is not here.
set -euo pipefail
# Characters are counted, not bytes.
export LC_ALL=C.UTF-8

chars_max=60
body_lines_min=50
area='^[a-z0-9][a-z0-9_/-]*: '
# Verbs whose imperative looks like another verb form.
imperatives=' alias bring embed exceed feed fling focus bias need proceed seed shed speed spring string succeed swing wed '

# complaint SUBJECT BODY CHANGED: prints what is wrong, or nothing.
complaint() {
    local subject=$1 summary=${1#*: } verb
    verb=${summary%%[ ,;:]*}
    if [[ ! $subject =~ $area ]]; then
        echo "starts with no area: write \`area: imperative summary\`"
    elif ((${#subject} > chars_max)); then
        echo "has ${#subject} characters, more than $chars_max: shorten it, and explain in the body"
    elif [[ ! $verb =~ ^[a-z] ]]; then
        echo "has a summary that does not start with a verb in lower case"
    elif [[ $imperatives != *" $verb "* && $verb =~ (ing|ed|[^su]s)$ ]]; then
        echo "starts its summary with \`$verb\`: use the imperative (add, not adds, added or adding)"
    elif [[ $subject == *. ]]; then
        echo "ends with a full stop: remove it"
    elif [[ ! $2 =~ [^[:space:]] ]] && (($3 >= body_lines_min)); then
        echo "changes $3 lines and has no body: give the reason in one"
    fi
}

# changed STAT: prints the sum of ` 3 files changed, 40 insertions(+), 12 deletions(-)`.
changed() {
    local sum=0
    if [[ $1 =~ ([0-9]+)\ insertion ]]; then sum=${BASH_REMATCH[1]}; fi
    if [[ $1 =~ ([0-9]+)\ deletion ]]; then ((sum += BASH_REMATCH[1])); fi
    echo "$sum"
}

if [ "$1" = --after ]; then
    git rev-parse --quiet --verify "$2^{commit}" >/dev/null || {
        echo "no commit $2 here" >&2
        exit 3
    }
    git log --no-merges --shortstat --format=$'%x01%h\x02%s\x02%b\x02' "$2..HEAD" |
        while IFS=$'\x02' read -r -d $'\x01' hash subject body stat || [ -n "$hash" ]; do
            found=$(complaint "$subject" "$body" "$(changed "$stat")")
            if [ -n "$hash" ] && [ -n "$found" ]; then echo "$hash \`$subject\` $found"; fi
        done
    exit
fi

subject=$(grep -v '^#' "$1" | grep -m 1 . || true)
case "$subject" in
# Git itself writes the first form, and `git rebase --autosquash` removes the others.
"Merge "* | "fixup! "* | "squash! "* | "amend! "*) exit 0 ;;
esac
body=$(grep -v '^#' "$1" | grep . | tail -n +2 || true)
stat=$(git diff --cached --shortstat 2>/dev/null || true)
found=$(complaint "$subject" "$body" "$(changed "$stat")")
if [ -n "$found" ]; then
    echo "commit-msg: \`$subject\` $found" >&2
    exit 1
fi
