#!/bin/sh
# Writes conformance/acl/jade-messages.json, jade-table.json, jade-sl.json and jade-xml.json anew: what JADE's own codecs write.
#
# usage: vectors.sh CLASSPATH
#   CLASSPATH   JADE 4.3 and commons-codec; for the bit-efficient ones also the compiled classes of JADE's add-on
#               BEFipaMessage, and for jade-xml.json those of xmlacl (from their public sources; nothing of them is kept here)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
javac -nowarn -encoding UTF-8 -cp "$1" -d "$build" "$here/JadeCodecs.java"
list() {
  java -Dfile.encoding=UTF-8 --add-exports java.xml/com.sun.org.apache.xerces.internal.parsers=ALL-UNNAMED -cp "$build:$1" JadeCodecs "$2" | awk 'BEGIN { print "[" } NR > 1 { print line "," } { line = $0 } END { print line; print "]" }'
}
list "$1" write > "$here/../acl/jade-messages.json"
list "$1" write-sl > "$here/../acl/jade-sl.json"
list "$1" write-table > "$here/../acl/jade-table.json"
list "$1" write-xml > "$here/../acl/jade-xml.json"
