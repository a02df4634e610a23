# What the scripts share; sourced by them.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# rustup puts cargo here; a shell that is no login shell may not know.
if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
fi

# Nothing here is built twice in a row with changes in between, so incremental files only cost time and space.
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"

# build ARGUMENT...: an optimised build. Takes minutes the first time, so cargo shows how far it is.
build() {
    cargo build --release "$@"
}

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# Where results go; tests name another folder.
out="${OUT:-out}"

# find_atoll: sets atoll to the program that ATOLL names, or builds it.
find_atoll() {
    mkdir -p "$out"
    atoll="${ATOLL:-}"
    if [ -z "$atoll" ]; then
        build -p atoll-cli
        atoll="${CARGO_TARGET_DIR:-target}/release/atoll"
    fi
}

# has_violation FILE...: whether --verify-heap has reported anything there.
has_violation() {
    grep -q 'heap invariant' "$@"
}
