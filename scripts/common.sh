# What the scripts share; sourced by them.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# rustup puts cargo here; a shell that is no login shell may not know.
if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
fi

# Nothing here is built twice in a row with changes in between, so incremental files only cost time and space.
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}
