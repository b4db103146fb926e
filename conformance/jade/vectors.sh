#!/bin/sh
# Writes conformance/acl/jade-messages.json, jade-table.json and jade-sl.json anew: what JADE's own codecs write.
#
# usage: vectors.sh CLASSPATH
#   CLASSPATH   JADE 4.3 and commons-codec; for the bit-efficient ones also the compiled classes of JADE's add-on
#               BEFipaMessage (from its public sources; nothing of it is kept here)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
javac -nowarn -encoding UTF-8 -cp "$1" -d "$build" "$here/JadeCodecs.java"
list() {
  java -Dfile.encoding=UTF-8 -cp "$build:$1" JadeCodecs "$2" | awk 'BEGIN { print "[" } NR > 1 { print line "," } { line = $0 } END { print line; print "]" }'
}
list "$1" write > "$here/../acl/jade-messages.json"
list "$1" write-sl > "$here/../acl/jade-sl.json"
list "$1" write-table > "$here/../acl/jade-table.json"
