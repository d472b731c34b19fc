#!/bin/sh
# Installs thndrs for one user: finds the build for this machine, checks its SHA-256 sum, puts it into ~/.local/bin.
# Needs no root, asks nothing, changes no other file. POSIX sh and the usual small programs.
#
#   sh install.sh                                    the newest release
#   THNDRS_VERSION=0.1.0 sh install.sh               this one
#   THNDRS_INSTALL_DIR=/opt/bin sh install.sh        somewhere else
#   THNDRS_RELEASES_URL=https://... sh install.sh      from a mirror with latest/download/ and download/vX.Y.Z/
#
# Everything is inside functions and the last line calls them: a script that was cut off on its way does nothing.
set -eu

# Written by `bun run release --url=...`. Empty in the source: the script then needs THNDRS_RELEASES_URL.
stamped_url=''

work=''
staged=''
made=''

say() { printf '%s\n' "$*"; }

fail() {
  printf 'install: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  printf 'install: nothing was installed\n' >&2
  exit 1
}

# Runs however the script ends: what is not finished leaves nothing behind, not even the directory it would have gone to.
clean_up() {
  status=$?
  trap - EXIT
  if [ -n "$work" ]; then rm -rf -- "$work"; fi
  if [ -n "$staged" ]; then rm -rf -- "$staged"; fi
  if [ -n "$made" ] && [ "$status" -ne 0 ]; then
    gone=$dir
    while [ "${#gone}" -ge "${#made}" ]; do
      rmdir -- "$gone" 2>/dev/null || true
      gone=$(dirname -- "$gone")
    done
  fi
  exit "$status"
}

have() { command -v "$1" >/dev/null 2>&1; }

is_musl() {
  if have ldd; then
    case $(ldd --version 2>&1 || true) in *musl*) return 0 ;; *) return 1 ;; esac
  fi
  for loader in /lib/ld-musl-*; do
    if [ -e "$loader" ]; then return 0; fi
  done
  return 1
}

# Sets target.
find_target() {
  system=$(uname -s)
  machine=$(uname -m)
  case $system in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    MINGW* | MSYS* | CYGWIN* | Windows*)
      fail "this script is for Linux and macOS" "for Windows, take thndrs-VERSION-windows-x64.zip from ${url:-the releases page}" ;;
    *) fail "there is no build for $system ($machine)" "there are builds for Linux, macOS and Windows" ;;
  esac
  case $machine in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no build for $machine processors" "there are builds for x86_64 and arm64" ;;
  esac
  # A shell under Rosetta takes an Apple processor for an Intel one.
  if [ "$os-$arch" = darwin-x64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then arch=arm64; fi
  # A 64-bit kernel below a 32-bit system.
  if [ "$os" = linux ] && have getconf && [ "$(getconf LONG_BIT 2>/dev/null || true)" = 32 ]; then
    fail "this is a 32-bit system" "there are builds for 64-bit systems only"
  fi
  target=$os-$arch
  if [ "$os" = linux ] && is_musl; then target=$target-musl; fi
}

# download URL FILE
download() {
  if have curl; then
    case $1 in https:*) only=https ;; *) only=http,https ;; esac
    # Less than 1 kB a second for half a minute is no download any more.
    curl --fail --silent --show-error --location --proto "=$only" --connect-timeout 20 --speed-limit 1000 --speed-time 30 \
      --retry 2 --output "$2" "$1"
  elif have wget; then
    # GNU's tries twenty times by itself; Busybox' knows no other number than one.
    case $(wget --version 2>/dev/null || true) in
      GNU*) wget -q -T 30 -t 3 -O "$2" "$1" ;;
      *) wget -q -T 30 -O "$2" "$1" ;;
    esac
  else
    fail "neither curl nor wget is installed" "install one of them, or download the archive by hand from $url"
  fi
}

# Prints the SHA-256 sum of a file.
sum_of() {
  if have sha256sum; then
    line=$(sha256sum <"$1")
  elif have shasum; then
    line=$(shasum -a 256 <"$1")
  elif have openssl; then
    line=$(openssl dgst -sha256 -r <"$1")
  else
    return 1
  fi
  printf '%s\n' "${line%% *}"
}

# Sets archive, version and expected from SHA256SUMS.
find_archive() {
  archive=''
  carriage=$(printf '\r')
  while read -r sum name || [ -n "${sum:-}" ]; do
    name=${name#\*}
    name=${name%"$carriage"}
    case $name in
      */*) continue ;;
      thndrs-*-"$target".tar.gz) ;;
      *) continue ;;
    esac
    if [ -n "$wanted" ] && [ "$name" != "thndrs-$wanted-$target.tar.gz" ]; then continue; fi
    if [ -n "$archive" ]; then fail "SHA256SUMS names more than one build for $target"; fi
    archive=$name
    expected=$(printf '%s' "$sum" | tr ABCDEF abcdef)
  done <"$work/SHA256SUMS"
  if [ -z "$archive" ]; then fail "this release has no build for $target" "looked in $sums_url"; fi
  case $expected in
    *[!0-9a-f]*) expected='' ;;
  esac
  if [ "${#expected}" -ne 64 ]; then fail "SHA256SUMS has no valid sum for $archive" "looked in $sums_url"; fi
  version=${archive#thndrs-}
  version=${version%-"$target".tar.gz}
}

# Finds out whether the directory can be written before anything is downloaded. Sets made to the topmost one that is missing.
check_directory() {
  if [ -d "$dir/thndrs" ]; then fail "$dir/thndrs is a directory" "move it away, or choose another THNDRS_INSTALL_DIR"; fi
  above=$dir
  topmost=''
  while [ ! -d "$above" ]; do
    if [ -e "$above" ] || [ -h "$above" ]; then fail "$above is not a directory"; fi
    topmost=$above
    above=$(dirname -- "$above")
  done
  if [ ! -w "$above" ] || [ ! -x "$above" ]; then
    fail "$above cannot be written" "choose a directory of your own: THNDRS_INSTALL_DIR=\"\$HOME/bin\" sh install.sh"
  fi
}

# Unpacks the program beside its future place, tries it out there, and moves it over an old one in one step: a thndrs that is
# running keeps its own file.
put_in_place() {
  tar -xzf "$work/$archive" -C "$work" || fail "$archive cannot be unpacked"
  program=$work/thndrs-$version-$target/thndrs
  if [ ! -f "$program" ] || [ -h "$program" ]; then fail "$archive holds no program"; fi
  made=$topmost
  mkdir -p -- "$dir" || fail "$dir cannot be made"
  staged=$(mktemp -d "$dir/.thndrs-install.XXXXXX") || fail "$dir cannot be written"
  cp -- "$program" "$staged/thndrs" || fail "$dir cannot be written: is there room for it?"
  chmod 755 "$staged/thndrs"
  if ! answer=$("$staged/thndrs" --version 2>&1 </dev/null); then
    hint='please report this with the output of: uname -a'
    case $target in *-musl) hint='on Alpine, thndrs needs: apk add libstdc++' ;; esac
    fail "the build for $target does not run here" "$(printf '%s\n' "$answer" | head -n 1)" "$hint"
  fi
  mv -f -- "$staged/thndrs" "$dir/thndrs" || fail "$dir/thndrs cannot be replaced"
}

# Quotes a path for the shell.
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

report() {
  say "thndrs $version is installed: $dir/thndrs"
  say "To undo: rm $(quoted "$dir/thndrs")"
  case :${PATH:-}: in
    *":$dir:"*)
      first=$(command -v thndrs 2>/dev/null || true)
      if [ -n "$first" ] && [ "$first" != "$dir/thndrs" ]; then
        say "Note: \"thndrs\" still means $first, which comes first in PATH."
      fi
      ;;
    *)
      say "$dir is not in PATH. Add this line to ~/.profile (or ~/.zshrc), then start a new shell:"
      say "  export PATH=$(quoted "$dir"):\"\$PATH\""
      ;;
  esac
}

main() {
  case ${1:-} in
    '') ;;
    -h | --help)
      say "Installs thndrs into ~/.local/bin. Settings are variables: THNDRS_VERSION, THNDRS_INSTALL_DIR, THNDRS_RELEASES_URL."
      exit 0 ;;
    *) fail "$1: this script takes no arguments" "settings are variables: THNDRS_VERSION, THNDRS_INSTALL_DIR, THNDRS_RELEASES_URL" ;;
  esac
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM

  url=${THNDRS_RELEASES_URL:-$stamped_url}
  url=${url%/}
  if [ -z "$url" ]; then
    fail "this copy of the script does not know where thndrs is published" \
      "take install.sh from a release, or set THNDRS_RELEASES_URL to the address of the releases"
  fi
  case $url in
    https://* | http://127.0.0.1[:/]* | http://localhost[:/]*) ;;
    http://*) printf 'install: note: over http nothing proves where these files come from\n' >&2 ;;
    *) fail "THNDRS_RELEASES_URL must begin with https:// (or http://): $url" ;;
  esac
  if [ -n "${THNDRS_INSTALL_DIR:-}" ]; then
    dir=$THNDRS_INSTALL_DIR
  elif [ -n "${HOME:-}" ]; then
    dir=$HOME/.local/bin
  else
    fail "neither HOME nor THNDRS_INSTALL_DIR is set"
  fi
  case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
  while [ "$dir" != "${dir%/}" ] && [ "$dir" != / ]; do dir=${dir%/}; done
  wanted=${THNDRS_VERSION:-}
  if [ "$wanted" = latest ]; then wanted=''; fi
  wanted=${wanted#v}
  case $wanted in *[!0-9A-Za-z.+-]*) fail "THNDRS_VERSION: $wanted is not a version" ;; esac

  find_target
  check_directory
  for tool in tar gzip mktemp sed tr head; do
    have "$tool" || fail "$tool is not installed"
  done
  work=$(mktemp -d "${TMPDIR:-/tmp}/thndrs-install.XXXXXX") || fail "no directory for temporary files: set TMPDIR"
  have sha256sum || have shasum || have openssl ||
    fail "no program to check sums with" "install one of: sha256sum, shasum, openssl"

  if [ -n "$wanted" ]; then sums_url=$url/download/v$wanted/SHA256SUMS; else sums_url=$url/latest/download/SHA256SUMS; fi
  download "$sums_url" "$work/SHA256SUMS" || fail "the sums cannot be downloaded: $sums_url"
  find_archive
  archive_url=$url/download/v$version/$archive
  download "$archive_url" "$work/$archive" || fail "the archive cannot be downloaded: $archive_url"
  actual=$(sum_of "$work/$archive")
  if [ "$actual" != "$expected" ]; then
    fail "$archive is not what SHA256SUMS says: it is damaged, or somebody has changed it" "expected $expected" "found    $actual"
  fi
  put_in_place
  report
}

main "$@"
