# Installs Debian packages and builds into build/. Sourced by apps/demo.sh and tests/run.sh, from the
# project's root.

build_packages=(g++ meson ninja-build pkg-config libdpdk-dev libfmt-dev libspdlog-dev libcli11-dev
    nlohmann-json3-dev libzstd-dev libhwy-dev iproute2)
test_packages=(libgtest-dev libgmock-dev libmpfr-dev python3 util-linux)

say() { printf '\n== %s\n' "$*"; }

# install_packages PACKAGE...: those that are missing; as another user than root it only says so.
install_packages() {
    local missing=() package
    if ! command -v dpkg-query >/dev/null; then
        echo "This is no Debian system: install what corresponds to $*, then build with" >&2
        echo "'meson setup build && ninja -C build'." >&2
        return 1
    fi
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" = 'install ok installed' ] ||
            missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "These packages are missing; as root: apt-get install ${missing[*]}" >&2
        return 1
    fi
    say "Installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# What a build would stumble over half way, with a stack trace.
check_writable() {
    local place
    for place in . build build/build.ninja build/.ninja_log build/meson-private; do
        [ -e "$place" ] && [ ! -w "$place" ] || continue
        echo "$(id -un) may not write $(realpath "$place"): run this as the user to whom it belongs," >&2
        echo "or from a copy of the project that is yours, without its build/." >&2
        return 1
    done
}

# build true|false [TARGET...]: with tests or without; a build that has tests keeps them.
build() {
    local tests=$1 command log
    shift
    check_writable
    say "Building into build/"
    if [ ! -f build/build.ninja ]; then
        command=(meson setup build "-Dtests=$tests")
    elif [ "$tests" = true ]; then
        command=(meson configure build -Dtests=true)
    else
        command=(true)
    fi
    log=$(mktemp)
    "${command[@]}" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; return 1; }
    rm -f "$log"
    ninja -C build "$@"
}
