/**
 * Agents of a Whimbrel platform, written in TypeScript: in a page, in a Worker, or in Node.
 *
 * @packageDocumentation
 */
export { Aid, type AidLike, type Contact } from "./acl/aid.js";
export { DecodeError, EncodeError, WhimbrelError, type DecodeErrorCode } from "./acl/errors.js";
export { KQML_PERFORMATIVES, message, PERFORMATIVES, replyTo, type Draft, type Message, type MessageParameters, type Performative } from "./acl/message.js";
export { compareValues, equalValues } from "./acl/order.js";
export { matches, type Template } from "./acl/template.js";
export {
  atom,
  container,
  field,
  isAtom,
  isMap,
  isRecord,
  isTerm,
  map,
  plain,
  record,
  structure,
  term,
  textOf,
  type Atom,
  type Container,
  type MapValue,
  type OpenList,
  type RecordValue,
  type Structure,
  type Value,
  type Variable,
} from "./acl/value.js";
export { Agent, type Handler, type Setup } from "./agents/agent.js";
export { Ams, type AgentDescription, type AgentQuery, type AgentState } from "./agents/ams.js";
export { connect, type ConnectOptions } from "./agents/connect.js";
export { Df, type Change, type Description, type Entry, type Service } from "./agents/df.js";
export type { SearchOptions } from "./agents/directory.js";
export { AnswerError, DeadlineError, EndedError, FailureError, NotUnderstoodError, RefusedError, RefuseError, StayedError } from "./agents/errors.js";
export { createKeys, createSigningRequest, importKey } from "./agents/identity.js";
export type { Keep, Restored } from "./agents/saver.js";
export { Inbox, type Matcher, type Waiting } from "./agents/mailbox.js";
export { Platform, type ConnectionListener, type Offer } from "./agents/platform.js";
export {
  contractNet,
  onContractNet,
  onQuery,
  onRequest,
  onSubscribe,
  queryIf,
  queryRef,
  Refusal,
  request,
  subscribe,
  type Answer,
  type Call,
  type Contract,
  type Contractor,
  type Outcome,
  type Proposal,
  type Question,
  type Responding,
  type Subscriber,
  type Subscription,
} from "./agents/protocols.js";
export { SessionError, type EndCode, type SessionOptions } from "./session/session.js";
export type { Code, Compact, Form, OnLeave } from "./session/frames.js";
export type { Connect, Transport, TransportEvents, WebSocketClass, WebSocketLike } from "./session/transport.js";
