/** Keys of agents, where WebCrypto has Ed25519: docs/design/session-protocol.md, Certificates. */
import { WhimbrelError } from "../acl/errors.js";

const ALGORITHM = "Ed25519";

/**
 * Creates a key pair for an agent. The private key is not exportable, so it never leaves this program.
 *
 * @throws `NotSupportedError` where WebCrypto lacks Ed25519.
 */
export async function createKeys(): Promise<CryptoKeyPair> {
  return (await crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"])) as CryptoKeyPair;
}

/**
 * Creates a certificate signing request (PKCS #10, RFC 2986) for an Ed25519 key, as PEM. It contains no name: the node
 * knows the agent.
 */
export async function createSigningRequest(keys: CryptoKeyPair): Promise<string> {
  const key = new Uint8Array(await crypto.subtle.exportKey("spki", keys.publicKey));
  const version = der(0x02, Uint8Array.of(0));
  const info = der(0x30, version, der(0x30), key, der(0xa0));
  const signature = new Uint8Array(await crypto.subtle.sign(ALGORITHM, keys.privateKey, info));
  // Object identifier of Ed25519, 1.3.101.112.
  const algorithm = der(0x30, Uint8Array.of(0x06, 0x03, 0x2b, 0x65, 0x70));
  const request = der(0x30, info, algorithm, der(0x03, Uint8Array.of(0), signature));
  const lines = btoa(String.fromCharCode(...request)).match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join("\n")}\n-----END CERTIFICATE REQUEST-----\n`;
}

/** Encoded object identifier of Ed25519, 1.3.101.112. */
const ED25519_OID = "06032b6570";

/**
 * Imports a private key from PEM (PKCS #8): the key of a certificate that the platform's authority issued, for Ed25519
 * or for ECDSA with P-256. The result is not exportable, and can be stored in an IndexedDB.
 *
 * @throws {@link WhimbrelError} if the PEM holds no such key.
 */
export async function importKey(pem: string): Promise<CryptoKey> {
  const [, label, body = ""] = /-----BEGIN ([^-]+)-----([^-]*)-----END \1-----/.exec(pem) ?? [];
  if (label !== "PRIVATE KEY") {
    throw new WhimbrelError(`cannot import the key: expected PEM with BEGIN PRIVATE KEY (PKCS #8, not encrypted), found ${label === undefined ? "no PEM" : `BEGIN ${label}`}`);
  }
  try {
    const bytes = Uint8Array.from(atob(body.replace(/\s/g, "")), (character) => character.charCodeAt(0));
    const head = Array.from(bytes.subarray(0, 20), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const algorithm = head.includes(ED25519_OID) ? ALGORITHM : { name: "ECDSA", namedCurve: "P-256" };
    return await crypto.subtle.importKey("pkcs8", bytes, algorithm, false, ["sign"]);
  } catch (cause) {
    throw new WhimbrelError(`cannot import the key: expected Ed25519, or ECDSA with P-256 (${String(cause)})`, { cause });
  }
}

/** Signs a challenge of the node at `place` (host and port), as proof of the certificate's key. @internal */
export async function proofOf(key: CryptoKey, place: string, challenge: string): Promise<Uint8Array> {
  const said = new TextEncoder().encode(`whimbrel session\n${place.toLowerCase()}\n${challenge}`);
  return new Uint8Array(await crypto.subtle.sign({ name: key.algorithm.name, hash: "SHA-256" }, key, said));
}

/**
 * Encodes an element in ASN.1's distinguished rules. All elements here are shorter than 128 bytes, so one byte holds
 * the length.
 */
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
