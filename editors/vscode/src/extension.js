// Extension: starts the language server `whimbrel lsp`, and runs societies in a terminal.
"use strict";

const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { commandLine } = require("./command-line.js");

/** Client of the language server, while it runs. */
let client;

/** Returns the binary that the settings name. */
function binary() {
  return vscode.workspace.getConfiguration("whimbrel").get("path", "whimbrel");
}

/** Starts the language server. */
async function start() {
  const server = { command: binary(), args: ["lsp"], transport: TransportKind.stdio };
  const options = {
    documentSelector: [{ language: "agentspeak" }, { language: "mas2j" }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{asl,mas2j}") },
  };
  client = new LanguageClient("whimbrel", "Whimbrel", server, options);
  try {
    await client.start();
  } catch (error) {
    const message = `The language server does not start: ${error}. Set whimbrel.path to the whimbrel binary.`;
    vscode.window.showErrorMessage(message);
  }
}

/** Ends the language server. */
async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

/** Runs a program or a project in a terminal; by default the file of the active editor. */
function run(file) {
  const active = vscode.window.activeTextEditor?.document.uri.fsPath;
  const chosen = typeof file === "string" ? file : (file?.fsPath ?? active);
  if (chosen === undefined) {
    vscode.window.showErrorMessage("Open a program (.asl) or a project (.mas2j) to run.");
    return;
  }
  const more = vscode.workspace.getConfiguration("whimbrel").get("runArguments", []);
  const terminal = vscode.window.createTerminal({ name: path.basename(chosen), cwd: path.dirname(chosen) });
  terminal.show();
  terminal.sendText(commandLine([binary(), "run", chosen, ...more], process.platform));
}

/** Begins with the first document of the language. */
async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("whimbrel.run", run),
    vscode.commands.registerCommand("whimbrel.restart", async () => {
      await stop();
      await start();
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
