// Configurations of debug sessions.
"use strict";

const path = require("node:path");

/** Returns a configuration with what it lacks: an empty one debugs the file. */
function completed(configuration, file) {
  if (configuration.request === "attach") {
    return configuration;
  }
  const program = configuration.program ?? file;
  if (configuration.type === undefined && program === undefined) {
    // Without a file there is nothing to debug: Visual Studio Code opens launch.json.
    return null;
  }
  const named = program === undefined ? {} : { program, name: `Debug ${path.basename(program)}` };
  return { type: "whimbrel", request: "launch", ...named, ...configuration };
}

module.exports = { completed };
