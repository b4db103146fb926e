/** Searches, when it is told to, in a thread of its own: the page stays quick. */
import { search } from "./ants.js";

self.onmessage = ({ data: { ticket, ...part } }) => {
  try {
    self.postMessage({ ticket, found: search(part) });
  } catch (error) {
    self.postMessage({ ticket, why: error.message });
  }
};
