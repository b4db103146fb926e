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
const { commandLine } = require("../src/command-line.js");

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

test("command_lines_are_quoted", () => {
  assert.equal(commandLine(["whimbrel", "run", "/a b/it's.asl"], "linux"), "whimbrel run '/a b/it'\\''s.asl'");
  assert.equal(commandLine(["C:\\w x\\whimbrel", "run", "a.asl"], "win32"), '& "C:\\w x\\whimbrel" run a.asl');
});
