// Extension: starts the language server `whimbrel lsp` and the debug adapter `whimbrel dap`, and runs societies in a
// terminal.
"use strict";

const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { ADVICE, checkRuns } = require("./binary.js");
const { commandLine } = require("./command-line.js");
const { completed } = require("./debug-configuration.js");

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
    const message = `The language server does not start: ${error}. ${ADVICE}`;
    vscode.window.showErrorMessage(message);
  }
}

/** Ends the language server. */
async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

/** Returns the path of a file that a command is about; by default that of the active editor. */
function chosenFile(file) {
  const active = vscode.window.activeTextEditor?.document.uri.fsPath;
  const chosen = typeof file === "string" ? file : (file?.fsPath ?? active);
  if (chosen === undefined) {
    vscode.window.showErrorMessage("Open a program (.asl) or a project (.mas2j) to run.");
  }
  return chosen;
}

/** Debugs a program or a project. */
async function debug(file) {
  const chosen = chosenFile(file);
  if (chosen !== undefined) {
    const uri = vscode.Uri.file(chosen);
    await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(uri), completed({}, chosen));
  }
}

/** Starts the debug adapter of a session. Without a binary, Visual Studio Code would end the session in silence. */
const adapters = {
  createDebugAdapterDescriptor: async () => {
    const command = binary();
    await checkRuns(command);
    return new vscode.DebugAdapterExecutable(command, ["dap"]);
  },
};

/** Completes configurations: F5 without any debugs the active file. */
const configurations = {
  resolveDebugConfiguration: (_folder, configuration) => {
    const active = vscode.window.activeTextEditor?.document;
    const isOurs = ["agentspeak", "mas2j"].includes(active?.languageId);
    return completed(configuration, isOurs ? active.uri.fsPath : undefined);
  },
};

/** Runs a program or a project in a terminal. */
function run(file) {
  const chosen = chosenFile(file);
  if (chosen === undefined) {
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
    vscode.commands.registerCommand("whimbrel.debug", debug),
    vscode.debug.registerDebugAdapterDescriptorFactory("whimbrel", adapters),
    vscode.debug.registerDebugConfigurationProvider("whimbrel", configurations),
    vscode.commands.registerCommand("whimbrel.restart", async () => {
      await stop();
      await start();
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
