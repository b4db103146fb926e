/** FIPA's interaction protocols. Made from conformance/protocols by test/protocol-tables.ts: edit those. */
import type { Protocol } from "./machine.js";

/** The auctioneer lowers the price until somebody takes it. The first bid wins. */
export const AUCTION_DUTCH: Protocol = {
  name: "fipa-auction-dutch",
  title: "Dutch auction",
  document: "XC00032F",
  roles: {"initiator":"auctioneer","participant":"bidder"},
  deadlines: {"called":{"to":"waiting"}},
  ends: {"lost":false,"won":true},
  moves: [
    [["start"],"initiator",["inform"],"waiting"],
    [["waiting","called"],"initiator",["cfp"],"called"],
    [["called"],"participant",["propose"],"proposed"],
    [["called"],"participant",["refuse"],"waiting"],
    [["proposed"],"initiator",["accept-proposal"],"won"],
    [["proposed"],"initiator",["reject-proposal"],"waiting"],
    [["waiting","called"],"initiator",["inform"],"lost"],
    [["proposed"],"initiator",["cfp"],"called"],
    [["proposed"],"initiator",["inform"],"lost"],
  ],
};

/**
 * The auctioneer raises the price as long as somebody bids it. The bid that was accepted last wins. The sale itself
 * is another conversation, by fipa-request.
 */
export const AUCTION_ENGLISH: Protocol = {
  name: "fipa-auction-english",
  title: "English auction",
  document: "XC00031F",
  roles: {"initiator":"auctioneer","participant":"bidder"},
  deadlines: {"called":{"to":"waiting"},"called-leading":{"to":"leading"}},
  ends: {"lost":false,"won":true},
  moves: [
    [["start"],"initiator",["inform"],"waiting"],
    [["waiting","called"],"initiator",["cfp"],"called"],
    [["leading","called-leading"],"initiator",["cfp"],"called-leading"],
    [["called","called-leading"],"participant",["propose"],"proposed"],
    [["called"],"participant",["refuse"],"waiting"],
    [["called-leading"],"participant",["refuse"],"leading"],
    [["proposed"],"initiator",["accept-proposal"],"leading"],
    [["proposed"],"initiator",["reject-proposal"],"waiting"],
    [["leading","called-leading"],"initiator",["reject-proposal"],"waiting"],
    [["waiting","called"],"initiator",["inform"],"lost"],
    [["leading","called-leading"],"initiator",["inform"],"won"],
    [["proposed"],"initiator",["cfp"],"called"],
    [["proposed"],"initiator",["inform"],"lost"],
  ],
};

/** The initiator asks a broker to find agents, pass a message to them, and return their answers. */
export const BROKERING: Protocol = {
  name: "fipa-brokering",
  title: "Brokering",
  document: "SC00033H",
  roles: {"initiator":"initiator","participant":"broker"},
  deadlines: {"asked":{"to":"silent"}},
  ends: {"refused":false,"failed":false,"done":true},
  moves: [
    [["start"],"initiator",["proxy"],"asked"],
    [["asked"],"participant",["refuse"],"refused"],
    [["asked"],"participant",["agree"],"agreed"],
    [["asked"],"participant",["failure"],"failed"],
    [["agreed"],"participant",["failure"],"failed"],
    [["agreed"],"participant",["inform"],"forwarded"],
    [["forwarded"],"participant",["failure"],"failed"],
    [["forwarded"],"participant",["inform"],"done"],
  ],
};

/** The initiator calls for proposals, accepts some and rejects the others; those accepted do the work. */
export const CONTRACT_NET: Protocol = {
  name: "fipa-contract-net",
  title: "Contract net",
  document: "SC00029H",
  roles: {"initiator":"initiator","participant":"participant"},
  deadlines: {"called":{"to":"silent","late":{"propose":"reject-proposal"}},"proposed":{"to":"silent"},"accepted":{"to":"silent"}},
  ends: {"refused":false,"rejected":false,"failed":false,"done":true},
  moves: [
    [["start"],"initiator",["cfp"],"called"],
    [["called"],"participant",["refuse"],"refused"],
    [["called"],"participant",["propose"],"proposed"],
    [["called"],"participant",["failure"],"failed"],
    [["proposed"],"initiator",["reject-proposal"],"rejected"],
    [["proposed"],"initiator",["accept-proposal"],"accepted"],
    [["accepted"],"participant",["failure"],"failed"],
    [["accepted"],"participant",["inform"],"done"],
  ],
};

/** A contract net in rounds: the initiator may call again, so that participants improve their proposals. */
export const ITERATED_CONTRACT_NET: Protocol = {
  name: "fipa-iterated-contract-net",
  title: "Iterated contract net",
  document: "SC00030H",
  roles: {"initiator":"initiator","participant":"participant"},
  deadlines: {"called":{"to":"silent","late":{"propose":"reject-proposal"}},"proposed":{"to":"silent"},"accepted":{"to":"silent"}},
  ends: {"refused":false,"rejected":false,"failed":false,"done":true},
  moves: [
    [["start","proposed"],"initiator",["cfp"],"called"],
    [["called"],"participant",["refuse"],"refused"],
    [["called"],"participant",["propose"],"proposed"],
    [["called"],"participant",["failure"],"failed"],
    [["proposed"],"initiator",["reject-proposal"],"rejected"],
    [["proposed"],"initiator",["accept-proposal"],"accepted"],
    [["accepted"],"participant",["failure"],"failed"],
    [["accepted"],"participant",["inform"],"done"],
  ],
};

/** The initiator proposes to do something itself; the participant accepts or rejects. */
export const PROPOSE: Protocol = {
  name: "fipa-propose",
  title: "Propose",
  document: "SC00036H",
  roles: {"initiator":"initiator","participant":"participant"},
  deadlines: {"proposed":{"to":"silent"}},
  ends: {"rejected":false,"accepted":true},
  moves: [
    [["start"],"initiator",["propose"],"proposed"],
    [["proposed"],"participant",["reject-proposal"],"rejected"],
    [["proposed"],"participant",["accept-proposal"],"accepted"],
  ],
};

/** The initiator asks whether something is so (query-if), or which thing it is (query-ref). */
export const QUERY: Protocol = {
  name: "fipa-query",
  title: "Query",
  document: "SC00027H",
  roles: {"initiator":"initiator","participant":"participant"},
  deadlines: {"asked":{"to":"silent"}},
  ends: {"refused":false,"failed":false,"done":true},
  moves: [
    [["start"],"initiator",["query-if","query-ref"],"asked"],
    [["asked"],"participant",["refuse"],"refused"],
    [["asked"],"participant",["agree"],"agreed"],
    [["asked","agreed"],"participant",["failure"],"failed"],
    [["asked","agreed"],"participant",["inform"],"done"],
  ],
};

/**
 * The initiator asks a recruiter to find agents and pass a message to them. They answer the initiator, or another
 * agent that it designates, directly: in the conversation of that message.
 */
export const RECRUITING: Protocol = {
  name: "fipa-recruiting",
  title: "Recruiting",
  document: "SC00034H",
  roles: {"initiator":"initiator","participant":"recruiter"},
  deadlines: {"asked":{"to":"silent"}},
  ends: {"refused":false,"failed":false,"done":true},
  moves: [
    [["start"],"initiator",["proxy"],"asked"],
    [["asked"],"participant",["refuse"],"refused"],
    [["asked"],"participant",["agree"],"agreed"],
    [["asked"],"participant",["failure"],"failed"],
    [["agreed"],"participant",["failure"],"failed"],
    [["agreed"],"participant",["inform"],"done"],
  ],
};

/** The initiator asks the participant to do something when a condition holds. */
export const REQUEST_WHEN: Protocol = {
  name: "fipa-request-when",
  title: "Request when",
  document: "SC00028H",
  roles: {"initiator":"initiator","participant":"participant"},
  deadlines: {"requested":{"to":"silent"}},
  ends: {"refused":false,"failed":false,"done":true},
  moves: [
    [["start"],"initiator",["request-when"],"requested"],
    [["requested"],"participant",["refuse"],"refused"],
    [["requested"],"participant",["agree"],"agreed"],
    [["agreed"],"participant",["failure"],"failed"],
    [["agreed"],"participant",["inform"],"done"],
    [["requested"],"participant",["failure"],"failed"],
    [["requested"],"participant",["inform"],"done"],
  ],
};

/** The initiator asks the participant to do something. */
export const REQUEST: Protocol = {
  name: "fipa-request",
  title: "Request",
  document: "SC00026H",
  roles: {"initiator":"initiator","participant":"participant"},
  deadlines: {"requested":{"to":"silent"}},
  ends: {"refused":false,"failed":false,"done":true},
  moves: [
    [["start"],"initiator",["request"],"requested"],
    [["requested"],"participant",["refuse"],"refused"],
    [["requested"],"participant",["agree"],"agreed"],
    [["requested","agreed"],"participant",["failure"],"failed"],
    [["requested","agreed"],"participant",["inform"],"done"],
  ],
};

/** The participant informs the initiator of something whenever it changes, until the initiator cancels. */
export const SUBSCRIBE: Protocol = {
  name: "fipa-subscribe",
  title: "Subscribe",
  document: "SC00035H",
  roles: {"initiator":"initiator","participant":"participant"},
  deadlines: {"subscribed":{"to":"silent"}},
  ends: {"refused":false,"failed":false},
  moves: [
    [["start"],"initiator",["subscribe"],"subscribed"],
    [["subscribed"],"participant",["refuse"],"refused"],
    [["subscribed"],"participant",["agree"],"active"],
    [["subscribed","active"],"participant",["inform"],"active"],
    [["subscribed","active"],"participant",["failure"],"failed"],
  ],
};
