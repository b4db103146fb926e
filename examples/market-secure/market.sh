#!/usr/bin/env bash
# A market on one node, its customers on another, and two intruders. Needs only the binary.
#
#   examples/market-secure/market.sh                    with `whimbrel` from the PATH
#   WHIMBREL=target/release/whimbrel examples/market-secure/market.sh

set -euo pipefail
whimbrel=$(command -v "${WHIMBREL:-whimbrel}") || { echo "set WHIMBREL to the whimbrel binary" >&2; exit 1; }
whimbrel=$(realpath "$whimbrel")
cd "$(dirname "$0")"

work=$(mktemp -d)
: >"$work/n1.log"
market=
customers=
end() {
  # Ends only processes that this script started.
  for process in $customers $market; do kill "$process" 2>/dev/null || true; done
  rm -rf "$work"
}
trap end EXIT

secret() { head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
export WHIMBREL_CA_PASSPHRASE WHIMBREL_TOKEN
WHIMBREL_CA_PASSPHRASE=$(secret)
WHIMBREL_TOKEN=$(secret)

# The platform's authority, and its nodes. In production each node enrols: `whimbrel enrol`.
"$whimbrel" ca init "$work/authority" >/dev/null
for node in n1 n2 n3; do
  "$whimbrel" ca issue "$work/authority" "$node" --out "$work/$node" >/dev/null
done
# Another authority certifies a forger as n2.
"$whimbrel" ca init "$work/forger" >/dev/null
"$whimbrel" ca issue "$work/forger" n2 --out "$work/forged" >/dev/null
# The forger trusts the market's authority; the market does not trust the forger's.
cp "$work/n2/authority.pem" "$work/n2/revoked.pem" "$work/forged/"

echo "# The market opens: node n1, at level authenticated"
"$whimbrel" run market.mas2j --listen 127.0.0.1:0 --security authenticated --credentials "$work/n1" \
  --for 60s --policy policy.toml --audit "$work/audit.jsonl" 2>"$work/n1.log" >"$work/n1.out" &
market=$!
address=
for _ in $(seq 200); do
  address=$(sed -n 's/.*others can join at //p' "$work/n1.log")
  [ -n "$address" ] && break
  sleep 0.05
done
[ -n "$address" ] || { cat "$work/n1.log" >&2; exit 1; }

join() { timeout 60 "$whimbrel" join "$address" "$1" --name "$2" --credentials "$work/$3" --quiet "${@:4}"; }

echo "# An intruder: a node that says it is n2, with a certificate of another authority"
if join customers.mas2j n2 forged >"$work/forged.out" 2>&1; then
  echo "it was let in: this should not have happened"; exit 1
fi
echo "it was not let in"

echo "# Customers come: node n2"
join customers.mas2j n2 n2 --policy policy.toml >"$work/n2.out" 2>&1 &
customers=$!

echo "# An intruder with a good certificate: node n3"
join intruder.mas2j n3 n3

wait "$customers" || true
wait "$market"
customers=
market=
echo "# What the customers said"
sort "$work/n2.out"
echo "# What the market said"
sort "$work/n1.out"
echo "# What the market refused (audit.jsonl)"
grep -hv '"reason":"allowed"' "$work"/audit.jsonl* | sed -E 's/.*"text":"([^"]*)".*/\1/' | sort -u
