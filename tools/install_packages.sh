#!/bin/sh
# Installs the Debian packages that qualia is built from, where they are missing.
# Usage: tools/install_packages.sh [GROUP...]   (default: build libraries)
# Nothing is asked of apt, and no rights are needed, when everything is there already.
# On a system without dpkg nothing is installed; CMake then names what it does not find.
set -eu

build="g++ cmake ninja-build make pkg-config git python3 python3-pip"
libraries="nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev libexpected-dev libutf8proc-dev
  libpcre2-dev libhwloc-dev libedit-dev"
tests="libgtest-dev libgmock-dev"
gpu="libvulkan1 mesa-vulkan-drivers libegl1 libgl1-mesa-dri"
bench="libbenchmark-dev"
peers="python3-venv"
aarch64="g++-aarch64-linux-gnu qemu-user googletest"
clang="clang clang-tidy clang-format libclang-rt-14-dev"

say() { printf 'qualia: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

packages_of() {
  case $1 in
    build) echo "$build" ;;
    libraries) echo "$libraries" ;;
    tests) echo "$tests" ;;
    gpu) echo "$gpu" ;;
    bench) echo "$bench" ;;
    peers) echo "$peers" ;;
    aarch64) echo "$aarch64" ;;
    clang | fuzz | tidy) echo "$clang" ;;
    *)
      fail "Package group '$1' is unknown" \
        "(build, libraries, tests, gpu, bench, peers, aarch64, fuzz, tidy)." ;;
  esac
}

missing_of() {
  for package in "$@"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
    [ "$state" = installed ] || printf '%s ' "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null ||
      fail "Packages are missing, and neither root's rights nor sudo are at hand: $missing"
    sudo "$@"
  fi
}

[ $# -gt 0 ] || set -- build libraries
wanted=
for group in "$@"; do
  packages=$(packages_of "$group") || exit 1
  wanted="$wanted $packages"
done
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  say "This is no Debian system, so packages are not checked."
  exit 0
fi
# shellcheck disable=SC2086  # lists of words
missing=$(missing_of $wanted)
[ -n "$missing" ] || exit 0

say "Installing packages: $missing"
as_root apt-get -qq update >&2 ||
  fail "'apt-get update' fails; these packages are missing: $missing"
# shellcheck disable=SC2086
as_root env DEBIAN_FRONTEND=noninteractive \
  apt-get -qq -y --no-install-recommends install $missing >&2 ||
  fail "'apt-get install' fails; these packages are missing: $(missing_of $missing)"
