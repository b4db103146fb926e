/** Compose view: writes, stores and sends any ACL message, and shows the answers. */
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { LiveError } from "../live/client.js";
import { clock, visible, visibleLines } from "../model/format.js";
import { readStored, writeStored } from "../storage.js";
import { BLANK, fault, draftOf, messageOf, writeTerm, type Json, type MessageDraft } from "../model/draft.js";
import { FIPA_PERFORMATIVES, KQML_PERFORMATIVES } from "../model/performative.js";
import { pretty } from "../model/term.js";
import { prompt } from "../parts/dialog.js";
import { AgentSuggestions } from "../parts/agent-suggestions.js";
import { useKeys } from "../parts/hooks.js";
import { Icon } from "../parts/icons.js";
import { Empty, Name, Performative } from "../parts/text.js";
import { live, route, say } from "../session.js";

interface Correspondence {
  readonly id: number;
  readonly atUs: number;
  readonly sent: MessageDraft;
  readonly answer: { readonly [member: string]: unknown } | null;
  readonly state: "waits" | "sent" | "answered" | "failed";
  readonly fault: string;
}
const draft = signal<MessageDraft>(BLANK);
const waits = signal(true);
const past = signal<readonly Correspondence[]>([]);
const PAST_MAX = 50;
const WAIT_MS = 10_000;
const KEY = "whimbrel.letters";
let lastId = 0;

function readSaved(): Readonly<Record<string, MessageDraft>> {
  try {
    return JSON.parse(readStored("browser", KEY) ?? "{}") as Record<string, MessageDraft>;
  } catch {
    return {};
  }
}
const saved = signal(readSaved());

function storeDrafts(letters: Readonly<Record<string, MessageDraft>>): void {
  saved.value = letters;
  if (!writeStored("browser", KEY, JSON.stringify(letters))) say("Cannot store the message: the browser's storage is full or disabled", true);
}

async function send(): Promise<void> {
  const written = draft.value;
  const id = ++lastId;
  const put = (part: Partial<Correspondence>) => (past.value = past.value.map((one) => (one.id === id ? { ...one, ...part } : one)));
  const begun: Correspondence = { id, atUs: Date.now() * 1000, sent: written, answer: null, state: waits.value ? "waits" : "sent", fault: "" };
  past.value = [begun, ...past.value].slice(0, PAST_MAX);
  try {
    const answer = await live.ask({ request: "send", message: messageOf(written, Date.now()), wait_ms: waits.value ? WAIT_MS : null });
    if (answer.answer === "reply") put({ state: "answered", answer: answer.message as { [member: string]: unknown } });
    else put({ state: "sent" });
  } catch (error) {
    put({ state: "failed", fault: error instanceof LiveError ? error.message : String(error) });
  }
}

export function ComposeView() {
  const { query } = route.value;
  useEffect(() => {
    const to = query.get("to");
    if (to === undefined) return;
    draft.value = { ...BLANK, receivers: to, conversation: query.get("conversation") ?? "", inReplyTo: query.get("reply") ?? "", protocol: query.get("protocol") ?? "" };
  }, [query]);
  return (
    <div class="compose">
      <DraftForm />
      <section class="panel is-fill past">
        <div class="tools">
          <h2>Sent from here</h2>
          <span class="tools-note">{past.value.length === 0 ? "" : past.value.length}</span>
        </div>
        <div class="past-body">
          {past.value.length === 0 ? <Empty title="No messages sent yet">Sent messages appear here with their answers.</Empty> : null}
          {past.value.map((one) => (
            <Past key={one.id} one={one} />
          ))}
        </div>
      </section>
    </div>
  );
}

function DraftForm() {
  const value = draft.value;
  const tried = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  useKeys({ "/": () => form.current?.querySelector<HTMLInputElement>("input")?.focus() });
  const set = (part: Partial<MessageDraft>) => (draft.value = { ...draft.value, ...part });
  const wrong = fault(value);
  const submit = () => {
    tried.value = wrong !== null;
    if (wrong === null) void send();
  };
  const line = (member: keyof MessageDraft, label: string, placeholder = "", list?: string) => (
    <label>
      {label}
      <input class="field" placeholder={placeholder} list={list} value={value[member]} onInput={(event) => set({ [member]: event.currentTarget.value })} />
    </label>
  );
  return (
    <section class="panel letter">
      <DraftTools />
      <form
        class="form"
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          submit();
        }}
      >
        <div class="form-row">
          <label>
            Performative
            <input class="field" list="performatives" value={value.performative} onInput={(event) => set({ performative: event.currentTarget.value.trim() })} />
          </label>
          {line("receivers", "Receivers", "bob, topic:weather", "agents-known")}
        </div>
        <div class="content-line">
          <label for="letter-content">Content</label>
          <select class="field" aria-label="Form of the content" value={value.contentIs} onChange={(event) => set({ contentIs: event.currentTarget.value as MessageDraft["contentIs"] })}>
            <option value="term">term</option>
            <option value="text">text</option>
            <option value="json">JSON</option>
          </select>
          <textarea id="letter-content" class="field" rows={5} spellcheck={false} placeholder={value.contentIs === "term" ? "price(tea, 5)" : ""} value={value.content} onInput={(event) => set({ content: event.currentTarget.value })} />
        </div>
        <div class="form-row">
          {line("conversation", "Conversation")}
          {line("protocol", "Protocol", "fipa-request")}
        </div>
        <div class="form-row">
          {line("replyWith", "Reply with")}
          {line("inReplyTo", "In reply to")}
        </div>
        <div class="form-row">
          {line("language", "Language")}
          {line("ontology", "Ontology")}
        </div>
        <div class="form-row">
          {line("sender", "Sender", "cli (the console)")}
          {line("replyByS", "Reply by, seconds from now")}
        </div>
        {tried.value && wrong !== null ? (
          <p class="notice is-fault" role="alert">
            {wrong}
          </p>
        ) : null}
        <div class="links">
          <button type="submit" class="button is-main" disabled={!live.mayAct} title="Ctrl+Enter">
            <Icon of="send" /> Send
          </button>
          <label class="check">
            <input type="checkbox" checked={waits.value} onChange={(event) => (waits.value = event.currentTarget.checked)} /> wait for an answer, {WAIT_MS / 1000} s
          </label>
        </div>
        <datalist id="performatives">
          {[...FIPA_PERFORMATIVES, ...KQML_PERFORMATIVES].map((one) => (
            <option value={one} />
          ))}
        </datalist>
        <AgentSuggestions typed={value.receivers} />
      </form>
    </section>
  );
}

function DraftTools() {
  const file = useRef<HTMLInputElement>(null);
  const store = async () => {
    const name = await prompt("Store this message", "Name in the browser's storage:", "Store", draft.value.conversation || `${draft.value.performative} to ${draft.value.receivers}`);
    if (name) storeDrafts({ ...saved.value, [name]: draft.value });
  };
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${JSON.stringify(messageOf(draft.value, Date.now()), null, 2)}\n`], { type: "application/json" }));
    link.download = "message.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  const load = async (chosen: File | undefined) => {
    if (!chosen) return;
    try {
      draft.value = draftOf(JSON.parse(await chosen.text()) as { [member: string]: unknown });
    } catch (error) {
      say(`Cannot load ${chosen.name}: not a message: ${error instanceof Error ? error.message : String(error)}`, true);
    }
  };
  const names = Object.keys(saved.value);
  return (
    <div class="tools">
      {names.length === 0 ? null : (
        <select
          class="field"
          aria-label="Stored messages"
          value=""
          onChange={(event) => {
            const one = saved.value[event.currentTarget.value];
            if (one) draft.value = { ...BLANK, ...one };
          }}
        >
          <option value="">Stored ({names.length})</option>
          {names.map((name) => (
            <option value={name}>{visible(name, 60)}</option>
          ))}
        </select>
      )}
      <button type="button" class="button" onClick={() => void store()}>
        Store
      </button>
      <button type="button" class="button" onClick={() => (fault(draft.value) === null ? save() : say(fault(draft.value) ?? "", true))}>
        Save file
      </button>
      <button type="button" class="button" onClick={() => file.current?.click()}>
        Load file
      </button>
      <input ref={file} type="file" accept=".json,application/json" hidden onChange={(event) => {
          const { currentTarget: input } = event;
          // Emptied, so that the same file can be loaded again.
          void load(input.files?.[0]).then(() => (input.value = ""));
        }}
      />
      <button type="button" class="button" onClick={() => (draft.value = BLANK)}>
        Clear
      </button>
    </div>
  );
}

function Past({ one }: { readonly one: Correspondence }) {
  const content = one.answer?.["content"] as Json | undefined;
  const sender = one.answer?.["sender"];
  return (
    <article class="correspondence">
      <header>
        <time>{clock(one.atUs)}</time>
        <Performative of={one.sent.performative} />
        <span class="is-quiet">to</span> <Name of={one.sent.receivers} />
        <button type="button" class="button is-bare" title="Copy to the form" onClick={() => (draft.value = one.sent)}>
          <Icon of="copy" />
        </button>
      </header>
      {one.sent.content === "" ? null : <pre class="content">{visibleLines(one.sent.content)}</pre>}
      {one.state === "answered" && one.answer ? (
        <div class="answer">
          <Performative of={String(one.answer["performative"])} /> <span class="is-quiet">from</span> <Name of={typeof sender === "string" ? sender : JSON.stringify(sender)} />
          <pre class="content">{content === undefined ? "no content" : visibleLines(pretty(typeof content === "string" ? content : writeTerm(content), 60))}</pre>
        </div>
      ) : (
        <p class={one.state === "failed" ? "is-fault" : "is-quiet"}>{one.state === "waits" ? "waiting for an answer…" : one.state === "failed" ? visible(one.fault, 400) : "sent without waiting for an answer"}</p>
      )}
    </article>
  );
}
