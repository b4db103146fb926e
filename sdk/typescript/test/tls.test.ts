/** Test of encrypted connections, certificates and agents' keys, with a real authority and a real node. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connect, createKeys, createSigningRequest } from "../src/node.js";
import { Society, TOKEN, WHIMBREL, WITHOUT_NODE } from "./society.js";

describe("over TLS", { skip: WITHOUT_NODE, concurrency: false, timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  const file = (name: string): string => readFileSync(join(folder, name), "utf8");
  let society: Society;

  before(async () => {
    const ca = (...arguments_: string[]): void => void execFileSync(WHIMBREL, ["ca", ...arguments_], { cwd: folder, stdio: "pipe", env: { ...process.env, WHIMBREL_CA_PASSPHRASE: "open sesame" } });
    ca("init", "authority");
    ca("issue", "authority", "n1", "--out", "n1");
    ca("issue", "authority", "bob", "--session", "--out", "bob");
    ca("init", "other");
    ca("issue", "other", "bob", "--session", "--out", "eve");
    writeFileSync(join(folder, "idle.asl"), "!s. +!s <- .wait(600000).");
    society = await Society.run(join(folder, "idle.asl"), undefined, "--credentials", join(folder, "n1"));
  });
  after(() => {
    society.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("token admits, node's certificate is verified", async () => {
    const url = `tls://${society.address}`;
    const platform = await connect(url, { token: TOKEN, authority: file("n1/authority.pem") });
    assert.equal((await platform.create("amy")).name, "amy");
    await platform.close();
    const distrusting = connect(url, { token: TOKEN, authority: file("eve/authority.pem"), patienceMs: 200 });
    await assert.rejects(distrusting, { name: "SessionError", code: "unreachable" });
    await assert.rejects(connect(url, { token: TOKEN, patienceMs: 200 }), /certificate/);
  });

  test("certificate admits its agent only", async () => {
    const url = `tls://${society.address}`;
    const platform = await connect(url, { authority: file("bob/authority.pem"), certificate: file("bob/session.pem"), key: file("bob/session.key") });
    assert.equal((await platform.create("bob")).name, "bob");
    await assert.rejects(platform.create("amy"), { name: "RefusedError", code: "not-allowed" });
    await platform.close();
    const intruder = connect(url, { authority: file("bob/authority.pem"), certificate: file("eve/session.pem"), key: file("eve/session.key"), patienceMs: 200 });
    await assert.rejects(intruder, { name: "SessionError" });
  });

  test("agent's own key is certified", async () => {
    const platform = await connect(`tls://${society.address}`, { token: TOKEN, authority: file("n1/authority.pem") });
    const witness = await platform.create("witness");
    const keys = await createKeys();
    const chain = await witness.certify(await createSigningRequest(keys));
    const [own, nodes] = (chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((pem) => new X509Certificate(pem));
    assert.ok(own && nodes);
    assert.equal(own.subjectAltName, `URI:whimbrel://n1/witness@${platform.name}`);
    assert.ok(own.verify(nodes.publicKey));
    assert.ok(nodes.verify(new X509Certificate(file("n1/authority.pem")).publicKey));
    const certified = own.publicKey.export({ type: "spki", format: "der" });
    assert.deepEqual(new Uint8Array(certified), new Uint8Array(await crypto.subtle.exportKey("spki", keys.publicKey)));
    await assert.rejects(crypto.subtle.exportKey("pkcs8", keys.privateKey), "the private key stays");
    await assert.rejects(witness.certify("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"), { code: "bad-request" });
    await platform.close();
  });
});
