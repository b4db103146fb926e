#!/usr/bin/env bash
# Runs a command in a folder with Debian's newest editors, which it makes first: `debian.sh FOLDER COMMAND...`, as root.
# The system around it gets no package but debootstrap. The repository is seen there read-only, at its own path, and so
# is a folder that NVIM_DAP names. What is mounted is gone when the command ends.
set -euo pipefail
folder=$1
shift
here=$(cd "$(dirname "$0")/../.." && pwd)
suite=forky
packages="ca-certificates python3-minimal libpython3-stdlib tmux gcc libc6-dev neovim hx emacs-nox elpa-dape"

within() { # command
  mkdir -p "$folder$here" ${NVIM_DAP:+"$folder$NVIM_DAP"}
  folder=$folder here=$here unshare --mount bash -euc '
    for shared in "$here" ${NVIM_DAP:+"$NVIM_DAP"}; do
      mount --bind "$shared" "$folder$shared"
      mount -o remount,bind,ro "$folder$shared"
    done
    mount --rbind /proc "$folder/proc"
    mount --rbind /dev "$folder/dev"
    exec chroot "$folder" "$@"' bash "$@"
}

if [ ! -e "$folder/complete" ]; then
  command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap >/dev/null; }
  echo "making a Debian $suite with editors in $folder, once: some minutes"
  rm -rf "$folder"
  mkdir -p "$folder"
  script=/usr/share/debootstrap/scripts/$suite
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
  debootstrap --variant=minbase "$suite" "$folder" http://deb.debian.org/debian "$script" >"$folder.log"
  # The signature counts, also of a mirror that is some weeks behind.
  echo 'Acquire::Check-Valid-Until "false"; APT::Install-Recommends "false";' >"$folder/etc/apt/apt.conf.d/90editors"
  install="apt-get update && apt-get install -y $packages && apt-get clean"
  DEBIAN_FRONTEND=noninteractive within sh -c "$install" >>"$folder.log" 2>&1
  touch "$folder/complete"
fi

within "$@"
