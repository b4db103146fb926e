/** Time that a society has to leave its platform before it is ended all the same. */
const LEAVE_MS = 2000;

/** Worker with a society, seen from the page. */
export class Desk {
  #worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  #waiting = new Map();
  #last = 0;

  /** Receiver of events: `happened`, `detached`, `broken`. */
  constructor(tell) {
    this.#worker.onmessage = ({ data }) => {
      if (data.type !== "answer") return tell(data);
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if (data.error === undefined) waiting?.resolve(data.answer);
      else waiting?.reject(Object.assign(new Error(data.error), { diagnostics: data.diagnostics }));
    };
    this.#worker.onerror = ({ message }) => tell({ type: "broken", text: message || "the Worker cannot be loaded" });
  }

  /** Sends an order to the Worker. Returns its result. */
  ask(order, rest = {}) {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, order, ...rest });
    });
  }

  /** Ends the Worker once it has left its platform: its agents' names are free then. */
  async leave() {
    const late = new Promise((resolve) => setTimeout(resolve, LEAVE_MS));
    await Promise.race([this.ask("detach").catch(() => undefined), late]);
    this.end();
  }

  /** Ends the Worker at once. */
  end() {
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(new Error("the society was ended"));
    this.#waiting.clear();
  }
}

/** Returns the engine, compiled once for all Workers. */
export async function engine(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} is not to be had (${response.status}): make classroom builds it`);
  return WebAssembly.compile(await response.arrayBuffer());
}
