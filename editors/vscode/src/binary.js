// The whimbrel binary.
"use strict";

const { execFile } = require("node:child_process");
const { promisify } = require("node:util");

/** Throws an error if a binary cannot be run: the reason, and what to do. */
async function checkRuns(binary) {
  try {
    await promisify(execFile)(binary, ["--version"]);
  } catch (error) {
    throw new Error(`cannot run ${binary}: ${error.code ?? error.message}. ${ADVICE}`);
  }
}

/** What to do if the binary is not found. */
const ADVICE =
  "Set whimbrel.path to the whimbrel binary. In a remote window, set it in the remote settings: it is a path there.";

module.exports = { ADVICE, checkRuns };
