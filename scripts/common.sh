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

# beside ONE OTHER: the figures in ONE.txt and OTHER.txt, lines of a name of 40 characters and a figure, and the time
# of the other as a part of the one's. Other lines are reports.
beside() {
    local figure='^.{40} *[0-9.]+$'
    echo "== $1, $2"
    paste <(grep -E "$figure" "$1.txt") <(grep -E "$figure" "$2.txt") | awk -F '\t' '{
        name = substr($1, 1, 40); one = substr($1, 41) + 0; other = substr($2, 41) + 0
        part = name ~ /MB\/s/ ? one / other : other / one
        printf "%s %10.2f %10.2f %7.2f\n", name, one, other, part
    }'
}

# has_violation FILE...: whether --verify-heap has reported anything there.
has_violation() {
    grep -q 'heap invariant' "$@"
}
