/** Validity of certificates. */
import type { CertificateInfo } from "../live/vocabulary.js";
import { duration } from "./format.js";

/** Fraction of a certificate's lifetime below which it expires soon. Nodes renew theirs earlier. */
const SOON = 0.1;

export type Validity = "good" | "soon" | "over" | "early" | "revoked";

/** Returns the validity at the time `now`. */
export function validity({ from_ms, until_ms, revoked }: CertificateInfo, now: number): Validity {
  if (revoked) return "revoked";
  if (now >= until_ms) return "over";
  if (now < from_ms) return "early";
  return until_ms - now < (until_ms - from_ms) * SOON ? "soon" : "good";
}

/** Formats a remaining time. Long times omit hours. */
function left(ms: number): string {
  const days = Math.floor(ms / 86_400_000);
  return days < 10 ? duration(ms) : `${days}d`;
}

/** Returns the validity as text. */
export function validityText(certificate: CertificateInfo, now: number): string {
  switch (validity(certificate, now)) {
    case "revoked":
      return "revoked";
    case "over":
      return `expired ${duration(now - certificate.until_ms)} ago`;
    case "early":
      return `valid in ${duration(certificate.from_ms - now)}`;
    default:
      return `${left(certificate.until_ms - now)} left`;
  }
}

/** Orders certificates by urgency, then by holder. */
export function byUrgency(now: number): (a: CertificateInfo, b: CertificateInfo) => number {
  const concern = ["over", "revoked", "early", "soon", "good"];
  const rank = (one: CertificateInfo) => concern.indexOf(validity(one, now));
  const whose = ["node", "authority", "certifier", "session", "agent"];
  return (a, b) => rank(a) - rank(b) || whose.indexOf(a.of) - whose.indexOf(b.of) || (a.subject < b.subject ? -1 : 1);
}
