#!/usr/bin/env bash
# Installs the commit-msg hook, which checks a commit's subject with subject.sh. An existing hook of
# that name is kept and runs first.
set -euo pipefail
cd "$(dirname "$0")/.."

mark="installed by \`make hooks\` of CairnDB"
folder=$(git rev-parse --git-path hooks)
hook=$folder/commit-msg
mkdir -p "$folder"
if [ -e "$hook" ] && ! grep -qF "$mark" "$hook"; then
    if [ -e "$hook.local" ]; then
        echo "$hook and $hook.local both exist and neither is ours: remove one" >&2
        exit 1
    fi
    mv "$hook" "$hook.local"
fi
cat >"$hook" <<EOF
#!/usr/bin/env bash
# The commit-msg hook, $mark.
set -euo pipefail
before=\$(git rev-parse --git-path hooks)/commit-msg.local
if [ -x "\$before" ]; then "\$before" "\$@"; fi
check=\$(git rev-parse --show-toplevel)/xtask/subject.sh
if [ -x "\$check" ]; then exec "\$check" "\$1"; fi
EOF
chmod +x "$hook"
echo "installed $hook"
