/** Keys of agents' own, where WebCrypto has Ed25519: docs/design/session-protocol.md, Certificates. */

const ALGORITHM = "Ed25519";

/**
 * A key pair for an agent. The private key cannot be exported: it never leaves this program.
 *
 * @throws `NotSupportedError` where WebCrypto has no Ed25519.
 */
export async function createKeys(): Promise<CryptoKeyPair> {
  return (await crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"])) as CryptoKeyPair;
}

/** A certificate signing request (PKCS #10, RFC 2986) for an Ed25519 key, as PEM. It names nobody: the node knows whose it is. */
export async function createSigningRequest(keys: CryptoKeyPair): Promise<string> {
  const key = new Uint8Array(await crypto.subtle.exportKey("spki", keys.publicKey));
  const version = der(0x02, Uint8Array.of(0));
  const info = der(0x30, version, der(0x30), key, der(0xa0));
  const signature = new Uint8Array(await crypto.subtle.sign(ALGORITHM, keys.privateKey, info));
  // Ed25519 is 1.3.101.112.
  const algorithm = der(0x30, Uint8Array.of(0x06, 0x03, 0x2b, 0x65, 0x70));
  const request = der(0x30, info, algorithm, der(0x03, Uint8Array.of(0), signature));
  const lines = btoa(String.fromCharCode(...request)).match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join("\n")}\n-----END CERTIFICATE REQUEST-----\n`;
}

/** An element of ASN.1's distinguished encoding; none here is longer than 127 bytes, whose length one byte says. */
function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const bytes = new Uint8Array(2 + length);
  bytes.set([tag, length]);
  let at = 2;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
