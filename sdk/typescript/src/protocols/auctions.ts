/** English and Dutch auctions: auctioneers and bidders. */
import { Aid, type AidLike } from "../acl/aid.js";
import { field, map, type Value } from "../acl/value.js";
import type { Agent } from "../agents/agent.js";
import { conversationsOf, Talk, type Exchange, type TalkOptions } from "./conversations.js";
import { isEnd, type Protocol } from "./machine.js";
import { AUCTION_DUTCH, AUCTION_ENGLISH } from "./tables.js";

/** Options of an auction. */
export interface AuctionOptions extends TalkOptions {
  readonly goods: Value;
  readonly to: readonly AidLike[];
  /** First price. */
  readonly from: number;
  /** Difference between a price and the next one. */
  readonly step: number;
  /** Maximum time to wait for bids on a price. */
  readonly roundMs: number;
}

/** Outcome of an auction that sold its goods. */
export interface Sale {
  readonly buyer: Aid;
  readonly price: number;
}

/** English auction: raises the price as long as somebody bids it. Undefined if nobody did. */
export async function englishAuction(agent: Agent, options: AuctionOptions): Promise<Sale | undefined> {
  const talk = new Talk(agent, AUCTION_ENGLISH, options.to, options);
  try {
    talk.say("inform", map({ goods: options.goods, start: options.from, step: options.step }));
    let leader: { readonly other: string; readonly price: number } | undefined;
    for (let price = options.from; ; price += options.step) {
      const [first, ...others] = await bidsFor(talk, options, price, allAnswered);
      if (first === undefined) break;
      talk.say("accept-proposal", priced(options.goods, price), { to: [first] });
      talk.say("reject-proposal", priced(options.goods, price), { to: others });
      if (leader && leader.other !== first) talk.say("reject-proposal", priced(options.goods, price), { to: talk.among("leading", "called-leading").filter((other) => other === leader?.other) });
      leader = { other: first, price };
    }
    return finish(talk, options.goods, leader);
  } finally {
    talk.close();
  }
}

/** Dutch auction: lowers the price down to `least`, until somebody takes it. Undefined if nobody did. */
export async function dutchAuction(agent: Agent, options: AuctionOptions & { readonly least: number }): Promise<Sale | undefined> {
  const talk = new Talk(agent, AUCTION_DUTCH, options.to, options);
  try {
    talk.say("inform", map({ goods: options.goods, start: options.from, step: -options.step }));
    for (let price = options.from; price >= options.least; price -= options.step) {
      const [first, ...others] = await bidsFor(talk, options, price, () => talk.among("proposed").length > 0 || allAnswered(talk));
      if (first === undefined) continue;
      talk.say("accept-proposal", priced(options.goods, price), { to: [first] });
      talk.say("reject-proposal", priced(options.goods, price), { to: others });
      return finish(talk, options.goods, { other: first, price });
    }
    return finish(talk, options.goods, undefined);
  } finally {
    talk.close();
  }
}

const priced = (goods: Value, price: number): Value => map({ goods, price });

const allAnswered = (talk: Talk): boolean => talk.among("called", "called-leading").length === 0;

/** Calls a price. Returns the bidders that bid it, in the order of their bids. */
async function bidsFor(talk: Talk, { goods, roundMs }: AuctionOptions, price: number, isEnough: (talk: Talk) => boolean): Promise<readonly string[]> {
  const open = talk.others.filter((other) => !isEnd(talk.protocol, talk.state(other)));
  talk.say("cfp", priced(goods, price), { to: open, deadlineMs: roundMs });
  await talk.until(() => isEnough(talk), roundMs + 1000);
  return talk.inOrder("proposed");
}

function finish(talk: Talk, goods: Value, sale: { readonly other: string; readonly price: number } | undefined): Sale | undefined {
  const open = talk.others.filter((other) => !isEnd(talk.protocol, talk.state(other)));
  talk.say("inform", map({ goods, price: sale?.price ?? null, winner: sale ? `${talk.aid(sale.other)}` : null }), { to: open });
  return sale && { buyer: talk.aid(sale.other), price: sale.price };
}

/** Bidder's side of an auction. */
export interface AuctionBidder {
  /** Decides whether to bid this price. */
  readonly bid: (goods: Value, price: number, auctioneer: Aid) => boolean | Promise<boolean>;
  /** Called when the auction is over, with the price if this agent won. */
  readonly over?: (goods: Value, price: number | undefined) => unknown;
}

/** Bids in English auctions. The returned function ends that. */
export const bidInEnglishAuctions = (agent: Agent, bidder: AuctionBidder): (() => void) => bidIn(agent, AUCTION_ENGLISH, bidder);

/** Bids in Dutch auctions. The returned function ends that. */
export const bidInDutchAuctions = (agent: Agent, bidder: AuctionBidder): (() => void) => bidIn(agent, AUCTION_DUTCH, bidder);

function bidIn(agent: Agent, protocol: Protocol, { bid, over }: AuctionBidder): () => void {
  return conversationsOf(agent).respond(protocol, async (exchange: Exchange) => {
    let goods = field(exchange.message.content, "goods") ?? exchange.message.content;
    let price: number | undefined;
    while (!exchange.machine.isOver && (await exchange.next())) {
      const { content } = exchange.message;
      if (exchange.state === "called-leading") exchange.say("refuse", "leading");
      else if (exchange.state === "called") {
        const called = Number(field(content, "price") ?? content);
        goods = field(content, "goods") ?? goods;
        const isTaken = await bid(goods, called, exchange.from);
        exchange.say(isTaken ? "propose" : "refuse", isTaken ? map({ price: called }) : null);
        if (isTaken) price = called;
      }
    }
    await over?.(goods, exchange.machine.isGood ? price : undefined);
  });
}
