#!/usr/bin/env bash
# Checks commit subjects against `area: imperative summary`, at most 60 characters; a message with a
# subject alone is refused if the commit changes 50 lines or more.
#
#   subject.sh FILE   the message in FILE, as the commit-msg hook passes it
#   subject.sh        subjects on standard input, one per line; prints one line for each, which is
#                     empty or names the problem
set -euo pipefail
# Characters are counted, not bytes.
export LC_ALL=C.UTF-8

chars_max=60
area='^[a-z0-9][a-z0-9_/-]*: '
# Verbs whose imperative looks like another verb form.
imperatives=' alias bring embed exceed feed fling focus bias need proceed seed shed speed spring string succeed swing wed '

complaint() {
    local subject=$1 summary verb
    if [[ ! $subject =~ $area ]]; then
        echo "starts with no area: write \`area: imperative summary\`"
        return
    fi
    if ((${#subject} > chars_max)); then
        echo "has ${#subject} characters, more than $chars_max: shorten it, and explain in the body"
        return
    fi
    summary=${subject#*: }
    verb=${summary%%[ ,;:]*}
    if [[ ! $verb =~ ^[a-z] ]]; then
        echo "has a summary that does not start with a verb in lower case"
    elif [[ $imperatives != *" $verb "* && $verb =~ (ing|ed|[^su]s)$ ]]; then
        echo "starts its summary with \`$verb\`: use the imperative (add, not adds, added or adding)"
    elif [[ $subject == *. ]]; then
        echo "ends with a full stop: remove it"
    fi
}

if [ $# = 0 ]; then
    while IFS= read -r subject; do
        found=$(complaint "$subject")
        echo "$found"
    done
    exit
fi

subject=$(grep -v '^#' "$1" | grep -m 1 . || true)
case "$subject" in
# Git itself writes the first form, and `git rebase --autosquash` removes the others.
"Merge "* | "fixup! "* | "squash! "* | "amend! "*) exit 0 ;;
esac
found=$(complaint "$subject")
# Number of changed lines from which a commit needs a body; `history.rs` has it too.
changed=$(git diff --cached --numstat 2>/dev/null | awk '{ lines += $1 + $2 } END { print lines + 0 }')
if [ -z "$found" ] && ((changed >= 50)) && [ "$(grep -v '^#' "$1" | grep -c .)" = 1 ]; then
    found="changes $changed lines and has no body: give the reason in one"
fi
if [ -n "$found" ]; then
    echo "commit-msg: \`$subject\` $found" >&2
    exit 1
fi
