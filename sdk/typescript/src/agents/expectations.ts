/** Frames that the node may still refuse, and who hears that. */
import { ChurnList, type ListItem } from "../collections/churn-list.js";
import type { RefusedError } from "./errors.js";

/** Hears the refusal of a frame. */
type Refused = (error: RefusedError) => void;

interface Question extends ListItem {
  readonly frame: number;
  readonly refused: Refused;
}

/** Frames by their numbers, and by their agents: what concerns one agent takes no time for the others. */
export class Expectations {
  readonly #agents = new Map<number, number>();
  readonly #frames = new Map<number, Map<number, { readonly isSave: boolean; readonly refused: Refused }>>();
  /** Questions of each agent, which come and go all the time. */
  readonly #questions = new Map<number, ChurnList<Question>>();

  /** Expects that the node may refuse a frame of an agent. Replaces what was expected of the frame. */
  add(frame: number, agent: number, refused: Refused, isSave = false): void {
    const frames = this.#frames.get(agent) ?? new Map();
    this.#frames.set(agent, frames.set(frame, { isSave, refused }));
    this.#agents.set(frame, agent);
  }

  /** Expects that the node may refuse a question, until the returned function is called. */
  ask(frame: number, agent: number, refused: Refused): () => void {
    const questions = this.#questions.get(agent) ?? new ChurnList<Question>();
    if (questions.size === 0) this.#questions.set(agent, questions);
    const question = { frame, refused };
    questions.add(question);
    return () => void questions.delete(question);
  }

  /** Forgets a frame. Returns who hears its refusal. */
  take(frame: number): Refused | undefined {
    for (const questions of this.#questions.values()) {
      const question = questions.find((one) => one.frame === frame);
      if (question && questions.delete(question)) return question.refused;
    }
    const frames = this.#frames.get(this.#agents.get(frame) ?? -1);
    const expected = frames?.get(frame);
    this.#agents.delete(frame);
    frames?.delete(frame);
    return expected?.refused;
  }

  /** Forgets the agent's saves up to this frame: the node has them. */
  saved(agent: number, upto: number): void {
    for (const [frame, { isSave }] of this.#frames.get(agent) ?? []) if (isSave && frame <= upto) this.take(frame);
  }

  /** Forgets all frames of an agent. */
  forget(agent: number): void {
    for (const [frame] of this.#frames.get(agent) ?? []) this.#agents.delete(frame);
    this.#frames.delete(agent);
    this.#questions.delete(agent);
  }

  /** Forgets all frames. */
  clear(): void {
    this.#agents.clear();
    this.#frames.clear();
    this.#questions.clear();
  }
}
