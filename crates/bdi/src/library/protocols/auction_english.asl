// English auction (XC00031): the auctioneer raises the price as long as somebody bids it.
//
//     { include("$whimbrel/auction_english.asl") }
//
// Initiator: !english_auction(Goods, Bidders, auction(From, Step, Round_ms), Outcome). Prices begin with From and rise
//     by Step. Outcome is sold(Agent, Price) or unsold.
// Participant: a plan +!bid_for(Goods, Price)[source(Auctioneer)] bids the price; its failure passes. Plans
//     +!won(Goods, Price) and +!lost(Goods) are optional.

{ include("$whimbrel/work.asl") }
{ include("$whimbrel/auction.asl") }
{ include("$whimbrel/tables/auction_english.asl") }

+!english_auction(Goods, Names, auction(From, Step, Ms), Outcome)
   <- ?conversation::agents(Names, Bidders);
      !conversation::open(C);
      !conversation::open_auction(C, "fipa-auction-english", Goods, Bidders);
      !conversation::raise(C, Goods, Bidders, From, Step, Ms, nobody, Outcome);
      !conversation::close_auction(C, Bidders, Outcome).

// Leader: nobody, or leader(Agent, Price).
+!conversation::raise(C, Goods, Bidders, Price, Step, Ms, Leader, Outcome)
   <- !conversation::call_price(C, Goods, Bidders, Price, Ms, all, Bids);
      !conversation::raise_on(Bids, C, Goods, Bidders, Price, Step, Ms, Leader, Outcome).

+!conversation::raise_on([], _, _, _, _, _, _, nobody, unsold).
+!conversation::raise_on([], _, _, _, _, _, _, leader(A, Price), sold(A, Price)).
+!conversation::raise_on([First|Others], C, Goods, Bidders, Price, Step, Ms, Leader, Outcome)
   <- !conversation::priced(Goods, Price, Content);
      !conversation::say(C, First, accept_proposal, Content, []);
      for (.member(A, Others)) {
         !conversation::say(C, A, reject_proposal, Content, [])
      };
      !conversation::outbid(C, Leader, First);
      !conversation::raise(C, Goods, Bidders, Price + Step, Step, Ms, leader(First, Price), Outcome).

+!conversation::outbid(C, leader(A, Price), First)
   : A \== First & (conversation::state(C, A, leading) | conversation::state(C, A, called_leading))
   <- !conversation::say(C, A, reject_proposal, Price, []).
+!conversation::outbid(_, _, _).

conversation::reacts("fipa-auction-english", participant, called).
+!conversation::react("fipa-auction-english", participant, called, C, From, Call, _)
   <- !conversation::bid_price(C, From, Call).

// It leads already: a bid against itself would only raise the price.
conversation::reacts("fipa-auction-english", participant, called_leading).
+!conversation::react("fipa-auction-english", participant, called_leading, C, From, _, _)
   <- !conversation::say(C, From, refuse, leading, []).

conversation::reacts("fipa-auction-english", participant, won).
+!conversation::react("fipa-auction-english", participant, won, _, _, Outcome, _)
   <- !conversation::auction_won(Outcome).
conversation::reacts("fipa-auction-english", participant, lost).
+!conversation::react("fipa-auction-english", participant, lost, _, _, Outcome, _)
   <- !conversation::auction_lost(Outcome).
