/** Test of certificates in a real browser: clients' with their proofs, and nodes'. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connect, createKeys, importKey } from "../src/node.js";
import { proofOf } from "../src/agents/identity.js";
import { Browser, bundle, Pages, withoutBrowser } from "./chromium.js";
import { SmallNode } from "./small-node.js";
import { Society, WHIMBREL, WITHOUT_NODE } from "./society.js";

const ADMIN = "an-operators-token-in-this-test";

test("invalid keys are refused with a reason", async () => {
  const pem = (label: string, ...bytes: number[]): string => `-----BEGIN ${label}-----\n${Buffer.from(bytes).toString("base64")}\n-----END ${label}-----\n`;
  const refused: readonly (readonly [string, RegExp])[] = [
    ["", /found no PEM/],
    ["hello", /found no PEM/],
    [pem("EC PRIVATE KEY", 1, 2), /PKCS #8.*found BEGIN EC PRIVATE KEY/],
    [pem("CERTIFICATE", 1, 2), /found BEGIN CERTIFICATE/],
    [pem("PRIVATE KEY", 1, 2), /cannot import the key: expected Ed25519, or ECDSA with P-256/],
    [pem("PRIVATE KEY").replace("KEY-----\n", "KEY-----\n*"), /expected Ed25519/],
  ];
  for (const [text, message] of refused) await assert.rejects(importKey(text), { name: "WhimbrelError", message }, text);
  const { privateKey } = (await crypto.subtle.generateKey("Ed25519", true, ["sign"])) as CryptoKeyPair;
  const own = await importKey(pem("PRIVATE KEY", ...new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey))));
  assert.deepEqual([own.algorithm.name, own.extractable], ["Ed25519", false]);
});

test("certificate holder signs the node's challenge", async () => {
  const { privateKey, publicKey } = await createKeys();
  const node = new SmallNode();
  node.challenge = "c0ffee";
  const platform = await connect("wss://Node.Example:8420", { transport: node.transport, certificate: "PEM", key: privateKey });
  const [hello] = node.of("hello");
  assert.deepEqual([hello?.certificate, node.of("proof").length], ["PEM", 1]);
  const signature = Buffer.from(node.of("proof")[0]?.signature ?? "", "base64");
  const said = new TextEncoder().encode("whimbrel session\nnode.example:8420\nc0ffee");
  assert.ok(await crypto.subtle.verify("Ed25519", publicKey, signature, said));
  node.cut();
  await node.next("hello", 1);
  assert.equal(node.of("hello")[1]?.certificate, undefined, "a resumed session is identified by its secret");
  await platform.close();
});

test("certificate without a key fails at once", async () => {
  const node = new SmallNode();
  node.challenge = "c0ffee";
  await assert.rejects(connect("ws://node.example", { transport: node.transport, certificate: "PEM" }), { name: "SessionError", code: "unauthorised" });
});

test("ECDSA keys sign as nodes expect", async () => {
  const { privateKey, publicKey } = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"])) as CryptoKeyPair;
  const signature = await proofOf(privateKey, "n1", "x");
  assert.equal(signature.length, 64, "the signature is two numbers of 32 bytes");
  assert.ok(await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, publicKey, new Uint8Array(signature), new TextEncoder().encode("whimbrel session\nn1\nx")));
});

describe("in a browser", { skip: WITHOUT_NODE || withoutBrowser(), concurrency: false, timeout: 180_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  const file = (name: string): string => readFileSync(join(folder, name), "utf8");
  const shown = (certificate: string, key = certificate) => ({ certificate: file(`${certificate}/session.pem`), key: file(`${key}/session.key`) });
  const idle = join(folder, "idle.asl");

  before(() => {
    const ca = (...arguments_: string[]): void => void execFileSync(WHIMBREL, ["ca", ...arguments_], { cwd: folder, stdio: "pipe", env: { ...process.env, WHIMBREL_CA_PASSPHRASE: "open sesame" } });
    ca("init", "authority");
    ca("issue", "authority", "n1", "--out", "n1");
    for (const name of ["bob", "ann"]) ca("issue", "authority", name, "--session", "--out", name);
    ca("issue", "authority", "tab", "--session", "--also", "tab-*", "--out", "tab");
    ca("revoke", "authority", "session:ann");
    copyFileSync(join(folder, "authority/revoked.pem"), join(folder, "n1/revoked.pem"));
    ca("init", "other");
    ca("issue", "other", "bob", "--session", "--out", "eve");
    writeFileSync(idle, "!s. +!s <- .wait(600000).");
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Returns the outcomes of a page's attempts, by name. */
  async function outcomes(attempts: readonly object[], ...options: string[]): Promise<Record<string, string>> {
    const pages = await Pages.of({
      "tab.js": await bundle("tab-certificates.js"),
      "worker.js": await bundle("../src/device/worker.js"),
      "kept-agent.js": await bundle("kept-agent.js"),
      "attempts.json": JSON.stringify(attempts),
    });
    const browser = new Browser(pages.url, ...options);
    try {
      const [posted = "{}"] = await pages.heard(1);
      return JSON.parse(posted) as Record<string, string>;
    } finally {
      await browser.close();
      pages.close();
    }
  }

  test("page with a bad certificate is refused and counted", async () => {
    const society = await Society.run(idle, undefined, "--credentials", join(folder, "n1"), "--http-token", ADMIN);
    try {
      const url = `http://${society.gateway}/session`;
      const attempts = [
        { name: "own", agent: "bob", ...shown("bob") },
        { name: "own again", agent: "bob", ...shown("bob") },
        { name: "for another name", agent: "zoe", ...shown("bob") },
        { name: "revoked", agent: "ann", ...shown("ann") },
        { name: "of another authority", agent: "bob", ...shown("eve") },
        { name: "with another key", agent: "bob", ...shown("bob", "eve") },
        { name: "none", agent: "bob" },
      ];
      const told = await outcomes(attempts.map((attempt) => ({ ...attempt, url })));
      assert.match(told["own"] ?? "", /^bob@/);
      assert.match(told["own again"] ?? "", /^bob@/);
      assert.match(told["for another name"] ?? "", /not-allowed/);
      assert.match(told["revoked"] ?? "", /unauthorised: .*revoked/i);
      assert.match(told["of another authority"] ?? "", /unauthorised: .*not trusted/);
      assert.match(told["with another key"] ?? "", /unauthorised: .*not signed with the key/);
      assert.match(told["none"] ?? "", /unauthorised: no accepted token or certificate/);
      const counted = async (): Promise<Record<string, number>> => {
        const security = await fetch(`http://${society.gateway}/api/v1/security`, { headers: { authorization: `Bearer ${ADMIN}` } });
        const { refusals } = (await security.json()) as { readonly refusals: readonly { readonly reason: string; readonly count: number }[] };
        return Object.fromEntries(refusals.map(({ reason, count }) => [reason, count]));
      };
      // They are counted when their connections are closed.
      while (Object.values(await counted()).reduce((sum, count) => sum + count, 0) < 4) await new Promise((resolve) => setTimeout(resolve, 20));
      const { revoked, bad_certificate, bad_token } = await counted();
      assert.deepEqual([revoked, bad_certificate, bad_token], [1, 2, 1]);
    } finally {
      society.stop();
    }
  });

  test("device joins by certificate, Workers included", async () => {
    const society = await Society.run(idle, undefined, "--credentials", join(folder, "n1"));
    try {
      const url = `http://${society.gateway}/session`;
      const attempts = [
        { name: "own", device: "tab", agent: "tab-bob", ...shown("tab") },
        { name: "own again", device: "tab", agent: "tab-bob", ...shown("tab") },
        { name: "somebody else's agent", device: "tab-two", agent: "bob", ...shown("tab") },
        { name: "with another key", device: "tab", agent: "tab-bob", ...shown("tab", "bob") },
        { name: "for itself alone", device: "bob", agent: "bob-1", ...shown("bob") },
      ];
      const told = await outcomes(attempts.map((attempt) => ({ ...attempt, url })));
      assert.match(told["own"] ?? "", /^tab-bob@/);
      assert.match(told["own again"] ?? "", /^tab-bob@/, "in the other form of frames");
      assert.match(told["somebody else's agent"] ?? "", /not-allowed/);
      assert.match(told["with another key"] ?? "", /unauthorised: .*not signed with the key/);
      assert.match(told["for itself alone"] ?? "", /not-allowed/);
    } finally {
      society.stop();
    }
  });

  test("browser refuses an untrusted node", async () => {
    const own = ["--http-certificate", join(folder, "n1/node.pem"), "--http-key", join(folder, "n1/node.pem")];
    const society = await Society.run(idle, undefined, "--credentials", join(folder, "n1"), ...own);
    try {
      const attempts = [{ name: "over TLS", agent: "bob", url: `https://${society.gateway}/session`, ...shown("bob") }];
      assert.match((await outcomes(attempts))["over TLS"] ?? "", /unreachable/);
      // The certificate was the only reason.
      assert.match((await outcomes(attempts, "--ignore-certificate-errors"))["over TLS"] ?? "", /^bob@/);
    } finally {
      society.stop();
    }
  });
});
