/** Pane of a message: all parameters, the formatted content, its question and its answers. */
import { useMemo } from "preact/hooks";
import type { Event, MessageEvent, MoreInfo } from "../live/vocabulary.js";
import { quote } from "../model/pattern.js";
import { clock, count, date, micros, visible, visibleLines } from "../model/format.js";
import { related } from "../model/recording.js";
import { pretty } from "../model/term.js";
import { Icon } from "../parts/icons.js";
import { Facts, Pane } from "../parts/pane.js";
import { Name, Performative } from "../parts/text.js";
import { go } from "../session.js";

interface Props {
  readonly message: MessageEvent;
  readonly events: readonly Event[];
  readonly onClose: () => void;
  readonly onChoose: (event: Event) => void;
}

export function MessagePane({ message, events, onClose, onChoose }: Props) {
  const { asks, answers } = useMemo(() => related(message, events), [message]);
  const conversation = message.conversation;
  const agent = (name: string) => (
    <a class="agent-link" href={`#/society/${encodeURIComponent(name)}`}>
      <Name of={name} />
    </a>
  );
  return (
    <Pane title={<Performative of={message.performative} />} label="Message" onClose={onClose}>
      {message.event === "died" ? <p class="notice is-fault">Undeliverable: {visible(message.why, 300)}</p> : null}
      <Facts
        of={[
          ["From", agent(message.from)],
          ["To", agent(message.to)],
          ["Via", message.via === undefined ? null : visible(message.via, 200)],
          ["Conversation", conversation === null ? null : <code>{visible(conversation, 300)}</code>],
          ["Protocol", message.protocol === null ? null : visible(message.protocol, 200)],
          ["Message id", message.reply_with === null ? null : <code title="reply-with">{visible(message.reply_with, 300)}</code>],
          ["Answers id", message.in_reply_to === null ? null : <code title="in-reply-to">{visible(message.in_reply_to, 300)}</code>],
          ["As in Jason", <code class="jason">{asInJason(message)}</code>],
          ...further(message.more ?? {}),
          ["Time", date(message.at_us)],
          ["Node", visible(message.node, 60)],
        ]}
      />
      <section>
        <h3>Content</h3>
        <pre class="content" dir="ltr">
          {message.content === "" ? "none" : visibleLines(pretty(message.content))}
        </pre>
      </section>
      <div class="links">
        {conversation === null ? null : (
          <button type="button" class="button" onClick={() => go("conversations", "", { conversation })}>
            <Icon of="conversations" /> Only this conversation
          </button>
        )}
        <button type="button" class="button" onClick={() => go("conversations", "", { agents: `${quote(message.from)} ${quote(message.to)}` })}>
          Only these two
        </button>
        <button type="button" class="button" onClick={() => go("compose", "", { to: quote(message.from), ...(conversation !== null && { conversation }), ...(message.reply_with !== null && { reply: message.reply_with }), ...(message.protocol !== null && { protocol: message.protocol }) })}>
          <Icon of="reply" /> Answer
        </button>
      </div>
      {asks ? <Related title="In answer to" messages={[asks]} to={message} onChoose={onChoose} /> : null}
      {answers.length > 0 ? <Related title="Answered by" messages={answers} to={message} onChoose={onChoose} /> : null}
    </Pane>
  );
}

/** Returns the message as Jason writes it: `<id->answered id,sender,performative,receiver,content>`. */
export function asInJason({ reply_with, in_reply_to, from, performative, to, content }: MessageEvent): string {
  const id = `${reply_with ?? ""}${in_reply_to === null ? "" : `->${in_reply_to}`}`;
  return `<${[id === "" ? "no id" : id, from, performative, to, content].map((part) => visible(part, 200)).join(",")}>`;
}

/** Returns the rarely used parameters as names and values. */
function further({ others, others_left_out, reply_to, reply_by_ms, language, encoding, ontology, user, user_left_out }: MoreInfo): [string, string | null][] {
  const said = (text?: string) => (text === undefined ? null : visible(text, 200));
  const all = (names: readonly string[] = [], more = 0) => names.map((name) => visible(name, 100)).join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
  return [
    ["Also to", all(others, others_left_out)],
    ["Reply to", all(reply_to)],
    ["Reply by", reply_by_ms === undefined ? null : date(reply_by_ms * 1000)],
    ["Language", said(language)],
    ["Encoding", said(encoding)],
    ["Ontology", said(ontology)],
    ...(user ?? []).map(([name, value]): [string, string] => [visible(name, 60), visible(value, 300)]),
    ["Parameters", user_left_out === undefined ? null : `${count(user_left_out)} more`],
  ];
}

function Related({ title, messages, to, onChoose }: { readonly title: string; readonly messages: readonly MessageEvent[]; readonly to: MessageEvent; readonly onChoose: (event: Event) => void }) {
  return (
    <section class="related">
      <h3>{title}</h3>
      {messages.map((message) => (
        <button type="button" onClick={() => onChoose(message)} title={clock(message.at_us)}>
          <Performative of={message.performative} /> <span class="is-quiet">by</span> <Name of={message.from} />
          <span class="is-quiet">{micros(Math.abs(message.at_us - to.at_us))}</span>
        </button>
      ))}
    </section>
  );
}
