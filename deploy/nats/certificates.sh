#!/bin/sh
# Makes an authority, a certificate for each server and one for the nodes, in the folder that is given.
# For trying things out: the authority's key lies beside them, without a passphrase.
set -eu
folder=${1:?"usage: certificates.sh FOLDER [SERVER...]"}
shift
[ $# -gt 0 ] || set -- nats-1 nats-2 nats-3
mkdir -p "$folder"
cd "$folder"
umask 077

make() { # file, common name, extensions
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  printf '%s\n' "$3" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -CAcreateserial -days 825 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
  rm "$1.csr" "$1.ext"
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=Whimbrel engine" \
  -addext "basicConstraints=critical,CA:TRUE" -keyout authority.key -out authority.pem 2>/dev/null
for server in "$@"; do
  # A server is a client, too, of the other servers.
  make "$server" "$server" "subjectAltName=DNS:$server,DNS:localhost,IP:127.0.0.1
extendedKeyUsage=serverAuth,clientAuth"
done
make node "whimbrel node" "extendedKeyUsage=clientAuth"
rm -f authority.srl
echo "made authority.pem, node.pem and $* in $folder"
