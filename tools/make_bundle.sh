#!/bin/sh
# Makes a folder that runs qualia without the libraries that it was built with, and its archive.
# Usage: tools/make_bundle.sh BUILD_FOLDER DIST_FOLDER
# Result: DIST/qualia-<version>-linux-<machine>/ and the same as .tar.gz; prints the archive's path.
#
# The folder is what `cmake --install` puts down, plus every shared library that the programs
# or libqualia need, glibc excepted: glibc and the kernel are what the bundle asks of a machine (the
# glibc of the machine that builds, or a newer one). The programs' RPATH ($ORIGIN/../lib) makes
# them find each other; cmake/qualia_install.cmake says why RPATH.
set -eu

fail() { printf 'qualia: %s\n' "$*" >&2; exit 1; }
[ $# -eq 2 ] || fail "tools/make_bundle.sh takes two arguments (BUILD_FOLDER DIST_FOLDER)."
build=$1
dist=$2
bytes_max=$((50 * 1024 * 1024))

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
[ -n "$version" ] || fail "'$build' is no configured build folder."
name=qualia-$version-linux-$(uname -m)
mkdir -p "$dist"
work=$(mktemp -d "$dist/.bundle.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
chmod 755 "$work"
root=$work/$name

# Paths of the shared libraries that a file needs, glibc's own left out.
libraries_of() {
  ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -Ev '/(ld-linux[^/]*|lib(c|m|dl|pthread|rt|resolv|util|anl|mvec))\.so(\.[0-9]+)*$' || true
}

# The licence of the package that a library came from, where the system can tell.
copy_licence() {
  package=$(dpkg-query -S "$(readlink -f "$1")" 2>/dev/null | head -n 1 | cut -d : -f 1) || return 0
  [ -n "$package" ] && [ -f "/usr/share/doc/$package/copyright" ] || return 0
  mkdir -p "$root/share/doc/qualia/licences"
  cp "/usr/share/doc/$package/copyright" "$root/share/doc/qualia/licences/$package"
}

# Entries for common terminals: libedit looks them up, and a small machine may have none.
copy_terminals() {
  for terminal in dumb vt100 linux xterm xterm-256color screen screen-256color tmux-256color; do
    for folder in /lib/terminfo /usr/share/terminfo; do
      entry=$(printf '%.1s' "$terminal")/$terminal
      if [ -f "$folder/$entry" ]; then
        install -D -m 644 "$folder/$entry" "$root/share/terminfo/$entry"
        break
      fi
    done
  done
}

cmake --install "$build" --prefix "$root" --strip >/dev/null
worker=$root/libexec/qualia/qualia-worker
for file in "$root/bin/qualia" "$worker" "$root"/lib/libqualia.so.*; do
  for library in $(libraries_of "$file"); do
    case $library in "$root"/*) continue ;; esac
    target=$root/lib/$(basename "$library")
    [ ! -e "$target" ] || continue
    install -m 644 "$library" "$target"
    copy_licence "$library"
  done
done
copy_terminals

for file in "$root/bin/qualia" "$worker" "$root"/lib/*.so.*; do
  [ ! -L "$file" ] || continue
  lacking=$(ldd "$file" | grep 'not found') || continue
  fail "'$file' lacks a library: $lacking"
done
for program in "$root/bin/qualia" "$worker"; do
  env -i "$program" --version >/dev/null || fail "The bundled '$program' does not start."
done

# Equal trees give equal archives: names sorted, owners and times fixed.
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime='1980-01-01 00:00Z' \
  -C "$work" -cf - "$name" | gzip -9n >"$work/$name.tar.gz"
bytes=$(wc -c <"$work/$name.tar.gz")
[ "$bytes" -le $bytes_max ] || fail "The archive has $bytes bytes ($bytes_max)."
rm -rf "${dist:?}/$name"
mv "$root" "$dist/$name"
mv "$work/$name.tar.gz" "$dist/$name.tar.gz"
printf '%s\n' "$dist/$name.tar.gz"
