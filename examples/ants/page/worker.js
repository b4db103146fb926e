/** Searches, when it is told to, in a thread of its own: the page stays quick. */
import { search } from "./ants.js";

self.onmessage = ({ data: { ticket, ...part } }) => self.postMessage({ ticket, found: search(part) });
