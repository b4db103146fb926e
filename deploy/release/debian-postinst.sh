#!/bin/sh
# Makes the user of the service. The service itself is started by whoever configured it.
set -e
if [ "$1" = configure ] && command -v systemd-sysusers >/dev/null; then
  systemd-sysusers whimbrel.conf
fi
