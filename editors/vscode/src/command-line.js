// Command lines for terminals.
"use strict";

/** Returns the words as one line for a shell of the platform, quoted where they need it. */
function commandLine(words, platform) {
  const isPlain = (word) => /^[A-Za-z0-9_@%+=:,./-]+$/.test(word);
  const quoted = (word) =>
    platform === "win32" ? `"${word.replaceAll('"', '""')}"` : `'${word.replaceAll("'", "'\\''")}'`;
  const line = words.map((word) => (isPlain(word) ? word : quoted(word))).join(" ");
  // PowerShell runs a quoted program only behind `&`.
  return platform === "win32" && line.startsWith('"') ? `& ${line}` : line;
}

module.exports = { commandLine };
