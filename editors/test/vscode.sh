#!/usr/bin/env bash
# Checks the extension in Visual Studio Code: `vscode.sh CODE_SERVER WHIMBREL`, folders of code-server and the binary.
set -euo pipefail
code_server=$1 whimbrel=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
export PATH="$code_server/node_modules/.bin:$PATH"
scratch=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$scratch"' EXIT
server=

mkdir -p "$scratch/data/User" "$scratch/data/Machine" "$scratch/pictures"
cp -r "$root/editors/test/shop" "$scratch/shop"
cat >"$scratch/data/User/settings.json" <<END
{
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
  "chat.disableAIFeatures": true
}
END
# The windows of code-server are remote: paths of the machine hold only there.
echo "{ \"whimbrel.path\": \"$whimbrel\" }" >"$scratch/data/Machine/settings.json"
(cd "$root/editors/vscode" && npm run --silent package -- -o "$scratch/whimbrel.vsix" >"$scratch/package.log")
folders=(--user-data-dir "$scratch/data" --extensions-dir "$scratch/extensions")
code-server "${folders[@]}" --install-extension "$scratch/whimbrel.vsix"
free='const server = require("node:net").createServer().listen(0, "127.0.0.1", () => {
  console.log(server.address().port);
  server.close();
})'
port=$(node -e "$free")
options=(--auth none --disable-telemetry --disable-update-check --bind-addr "127.0.0.1:$port")
code-server "${folders[@]}" "${options[@]}" >"$scratch/server.log" 2>&1 &
server=$!
curl --silent --output /dev/null --retry 100 --retry-connrefused --retry-delay 1 "http://127.0.0.1:$port/"
cd "$root/console"
node "$root/editors/test/vscode.mjs" "http://127.0.0.1:$port" "$scratch/shop" "${PICTURES:-$scratch/pictures}"
