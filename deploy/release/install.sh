#!/bin/sh
# Installs the command `whimbrel`, if the archive has the checksum that the release names.
#
#   install.sh [--to FOLDER] [--from FOLDER|URL]
#
#   --to     folder of the command [default: ~/.local/bin]
#   --from   folder or address of a release's files [default: those of version @VERSION@]
set -eu

version='@VERSION@'
from='@DOWNLOADS@'
to=${HOME:-.}/.local/bin

stop() { echo "install.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || stop "$1 needs a value"
  case $1 in
    --to) to=$2 ;;
    --from) from=$2 ;;
    *) stop "unknown option $1: there are --to and --from" ;;
  esac
  shift 2
done
[ -n "$from" ] || stop "no address to download from: give --from FOLDER or --from URL"

machine=$(uname -m)
case $machine in arm64) machine=aarch64 ;; amd64) machine=x86_64 ;; esac
case $(uname -s) in
  Linux) target=$machine-unknown-linux-gnu ;;
  Darwin) target=$machine-apple-darwin ;;
  *) stop "no archive for $(uname -s): on Windows, unpack the .zip" ;;
esac
archive=whimbrel-$version-$target.tar.gz
sums=SHA256SUMS-$target

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # file
  case $from in
    http://* | https://*)
      if command -v curl >/dev/null; then curl -fsSL "$from/$1" -o "$work/$1"
      elif command -v wget >/dev/null; then wget -q "$from/$1" -O "$work/$1"
      else stop "curl or wget is needed to download from $from"
      fi ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac || stop "cannot get $1 from $from"
}

fetch "$sums"
fetch "$archive"
cd "$work"
grep "  $archive\$" "$sums" > wanted || stop "$sums has no line for $archive"
if command -v sha256sum >/dev/null; then sha256sum -c wanted >/dev/null 2>&1
else shasum -a 256 -c wanted >/dev/null 2>&1
fi || stop "$archive has another checksum than $sums says: nothing was installed"

tar -xzf "$archive"
mkdir -p "$to"
# Renaming replaces a command that is running, too.
cp "whimbrel-$version-$target/whimbrel" "$to/.whimbrel.new"
mv "$to/.whimbrel.new" "$to/whimbrel"
echo "Installed whimbrel $version: $to/whimbrel"
case ":${PATH:-}:" in
  *":$to:"*) echo "Begin with: whimbrel new garden && whimbrel run garden" ;;
  *) echo "Add it to your PATH: export PATH=\"$to:\$PATH\"" ;;
esac
