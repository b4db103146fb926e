// The grammars, on the tokens of Visual Studio Code itself, and the manifest.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const oniguruma = require("vscode-oniguruma");
const { INITIAL, Registry, parseRawGrammar } = require("vscode-textmate");
const { checkRuns } = require("../src/binary.js");
const { commandLine } = require("../src/command-line.js");
const { completed } = require("../src/debug-configuration.js");

const home = join(dirname(fileURLToPath(import.meta.url)), "..");
const root = join(home, "../..");
const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));

await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
const registry = new Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async (scope) => {
    const { path } = manifest.contributes.grammars.find(({ scopeName }) => scopeName === scope);
    return parseRawGrammar(readFileSync(join(home, path), "utf8"), path);
  },
});

/** Returns each token of a text with its innermost scope, and whether nothing is open at the end. */
async function tokens(scope, text) {
  const grammar = await registry.loadGrammar(scope);
  let stack = INITIAL;
  const found = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const result = grammar.tokenizeLine(line, stack);
    stack = result.ruleStack;
    for (const { startIndex, endIndex, scopes } of result.tokens) {
      found.push([line.slice(startIndex, endIndex), scopes.at(-1)]);
    }
  }
  return { found, isClosed: stack.depth === 1 };
}

/** Returns all files below a folder with this ending. */
function* files(folder, ending) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      yield* files(path, ending);
    } else if (entry.name.endsWith(ending)) {
      yield path;
    }
  }
}

test("tokens_have_their_scopes", async () => {
  const text = '@l[atomic] +!go(X) : not done & math.abs(X) >= 2.5 <- .print("a\\"b", X); !!next; -+p(_). // end';
  const { found, isClosed } = await tokens("source.agentspeak", text);
  const scope = (token) => found.find(([said]) => said === token)?.[1].replace(".agentspeak", "");
  const scopes = Object.fromEntries(
    ["@l", "go", "X", "not", "math.abs", ">=", "2.5", "<-", ".print", "!!", "next", "_"].map((token) => [
      token,
      scope(token),
    ]),
  );
  assert.deepEqual(scopes, {
    "@l": "entity.name.label",
    go: "entity.name.function",
    X: "variable.other",
    not: "keyword.operator.word",
    "math.abs": "support.function",
    ">=": "keyword.operator.comparison",
    2.5: "constant.numeric",
    "<-": "keyword.operator.plan",
    ".print": "support.function",
    "!!": "keyword.operator.goal",
    next: "entity.name.function.goal",
    _: "variable.other",
  });
  assert.equal(scope("// end"), "comment.line.double-slash");
  assert.ok(isClosed);
});

test("corpus_files_end_closed", async () => {
  let count = 0;
  for (const [ending, scope] of [[".asl", "source.agentspeak"], [".mas2j", "source.mas2j"]]) {
    for (const folder of ["conformance/agentspeak", "examples", "crates/bdi/src/library"]) {
      for (const file of files(join(root, folder), ending)) {
        const { found, isClosed } = await tokens(scope, readFileSync(file, "utf8"));
        assert.ok(isClosed, `${file}: something is open at the end`);
        const bare = found.filter(([said, inner]) => inner === scope && /[A-Za-z0-9]/.test(said));
        assert.deepEqual(bare, [], `${file}: names without a scope`);
        count += 1;
      }
    }
  }
  assert.ok(count > 500, `${count} files`);
});

test("manifest_names_existing_files", () => {
  const { languages, grammars } = manifest.contributes;
  const paths = [manifest.main, ...languages.map((it) => it.configuration), ...grammars.map((it) => it.path)];
  for (const path of paths) {
    assert.ok(existsSync(join(home, path)), path);
  }
});

test("manifest_offers_a_debugger", () => {
  const { breakpoints, commands, debuggers, languages } = manifest.contributes;
  const known = languages.map(({ id }) => id);
  const [offered] = debuggers;
  assert.deepEqual(breakpoints, [{ language: "agentspeak" }]);
  assert.ok(offered.languages.every((language) => known.includes(language)));
  // The settings are those that `whimbrel dap` reads.
  const protocol = readFileSync(join(root, "crates/cli/src/commands/dap/protocol.rs"), "utf8");
  for (const [request, { properties }] of Object.entries(offered.configurationAttributes)) {
    const struct = protocol.split(`pub struct ${request === "launch" ? "Launch" : "Attach"}Arguments {`)[1].split("\n}")[0];
    for (const property of Object.keys(properties)) {
      const field = property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      assert.ok(struct.includes(`pub ${field}:`), `${request}: ${property}`);
    }
  }
  const bodies = [...offered.initialConfigurations, ...offered.configurationSnippets.map(({ body }) => body)];
  for (const { type, request, ...rest } of bodies) {
    assert.equal(type, offered.type);
    const { properties } = offered.configurationAttributes[request];
    assert.ok(Object.keys(rest).every((key) => key === "name" || key in properties));
  }
  // Lenses of the language server call these commands.
  const outline = readFileSync(join(root, "crates/editor/src/server/outline.rs"), "utf8");
  for (const [, command] of outline.matchAll(/"(whimbrel\.[a-z]+)"/g)) {
    assert.ok(commands.some((offer) => offer.command === command), command);
  }
  assert.ok(outline.includes("whimbrel.debug"));
});

test("debug_configurations_are_completed", () => {
  const launch = { type: "whimbrel", request: "launch", program: "/x/a.asl", name: "Debug a.asl" };
  assert.deepEqual(completed({}, "/x/a.asl"), launch);
  assert.deepEqual(completed({ ...launch, args: ["-q"] }, "/x/b.asl"), { ...launch, args: ["-q"] });
  assert.equal(completed({}, undefined), null);
  const attach = { type: "whimbrel", request: "attach", name: "A" };
  assert.equal(completed(attach, "/x/a.asl"), attach);
});

test("missing_binary_is_explained", async () => {
  await checkRuns(process.execPath);
  const reason = /^cannot run no-such-binary: ENOENT\. Set whimbrel\.path to the whimbrel binary\. In a remote window,/;
  await assert.rejects(checkRuns("no-such-binary"), ({ message }) => reason.test(message));
});

test("command_lines_are_quoted", () => {
  assert.equal(commandLine(["whimbrel", "run", "/a b/it's.asl"], "linux"), "whimbrel run '/a b/it'\\''s.asl'");
  assert.equal(commandLine(["C:\\w x\\whimbrel", "run", "a.asl"], "win32"), '& "C:\\w x\\whimbrel" run a.asl');
});
