// Dutch auction (XC00032): the auctioneer lowers the price until somebody takes it.
//
//     { include("$whimbrel/auction_dutch.asl") }
//
// Initiator: !dutch_auction(Goods, Bidders, auction(From, Step, Least, Round_ms), Outcome). Prices begin with From, and
//     fall by Step down to Least. Outcome is sold(Agent, Price) or unsold.
// Participant: a plan +!bid_for(Goods, Price)[source(Auctioneer)] takes the price; its failure passes. Plans
//     +!won(Goods, Price) and +!lost(Goods) are optional.

{ include("$whimbrel/work.asl") }
{ include("$whimbrel/auction.asl") }
{ include("$whimbrel/tables/auction_dutch.asl") }

+!dutch_auction(Goods, Names, auction(From, Step, Least, Ms), Outcome)
   <- ?conversation::agents(Names, Bidders);
      !conversation::open(C);
      !conversation::open_auction(C, "fipa-auction-dutch", Goods, Bidders);
      !conversation::lower(C, Goods, Bidders, From, Step, Least, Ms, Outcome);
      !conversation::close_auction(C, Bidders, Outcome).

+!conversation::lower(_, _, _, Price, _, Least, _, unsold) : Price < Least.
+!conversation::lower(C, Goods, Bidders, Price, Step, Least, Ms, Outcome)
   <- !conversation::call_price(C, Goods, Bidders, Price, Ms, one, Bids);
      !conversation::lower_on(Bids, C, Goods, Bidders, Price, Step, Least, Ms, Outcome).

+!conversation::lower_on([], C, Goods, Bidders, Price, Step, Least, Ms, Outcome)
   <- !conversation::lower(C, Goods, Bidders, Price - Step, Step, Least, Ms, Outcome).
+!conversation::lower_on([First|Others], C, Goods, _, Price, _, _, _, sold(First, Price))
   <- !conversation::priced(Goods, Price, Content);
      !conversation::say(C, First, accept_proposal, Content, []);
      for (.member(A, Others)) {
         !conversation::say(C, A, reject_proposal, Content, [])
      }.

conversation::reacts("fipa-auction-dutch", participant, called).
+!conversation::react("fipa-auction-dutch", participant, called, C, From, Call, _)
   <- !conversation::bid_price(C, From, Call).

conversation::reacts("fipa-auction-dutch", participant, won).
+!conversation::react("fipa-auction-dutch", participant, won, _, _, Outcome, _)
   <- !conversation::auction_won(Outcome).
conversation::reacts("fipa-auction-dutch", participant, lost).
+!conversation::react("fipa-auction-dutch", participant, lost, _, _, Outcome, _)
   <- !conversation::auction_lost(Outcome).
