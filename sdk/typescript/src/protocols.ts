/**
 * FIPA's interaction protocols, both roles of each. What an agent says and hears is checked against the protocol: a
 * message that it does not allow is answered `not-understood`, and no handler sees it.
 *
 * ```ts
 * import { contractNet, serveContractNet } from "whimbrel/protocols";
 *
 * serveContractNet(painter, { propose: () => 40, perform: (task) => `${task} is painted` });
 * const { awards } = await contractNet(owner, { task: "fence", to: ["painter"], deadlineMs: 1000 });
 * ```
 *
 * @packageDocumentation
 */
export { Refusal } from "./agents/protocols.js";
export { bidInDutchAuctions, bidInEnglishAuctions, dutchAuction, englishAuction, type AuctionBidder, type AuctionOptions, type Sale } from "./protocols/auctions.js";
export { conversationsOf, Talk, type Conversations, type Exchange, type Responder, type TalkOptions } from "./protocols/conversations.js";
export {
  broker,
  contractNet,
  iteratedContractNet,
  propose,
  queryIf,
  queryRef,
  recruit,
  request,
  requestWhen,
  subscribe,
  type AnswerOptions,
  type Award,
  type Bid,
  type ContractNetOptions,
  type ContractNetResult,
  type Decision,
  type Feed,
  type IteratedOptions,
  type ProxyAnswer,
  type ProxyQuestion,
} from "./protocols/initiators.js";
export { allowedIn, Machine, nextState, ProtocolError, type Judgement, type Protocol, type ProtocolMove, type ProtocolParty, type ProtocolRole, type Saying } from "./protocols/machine.js";
export { Machines, type JudgedMessage } from "./protocols/machines.js";
export {
  serveBrokering,
  serveContractNet,
  serveIteratedContractNet,
  servePropose,
  serveQuery,
  serveRecruiting,
  serveRequest,
  serveRequestWhen,
  serveSubscribe,
  type ConditionalWorker,
  type ContractBidder,
  type Eventually,
  type Finder,
  type Publisher,
  type Worker,
} from "./protocols/participants.js";
export * from "./protocols/tables.js";
