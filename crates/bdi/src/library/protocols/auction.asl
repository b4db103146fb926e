// Auctions: what auction_english.asl and auction_dutch.asl have in common. Programs include those.

{ include("$whimbrel/work.asl") }

// ---- Auctioneer

+!conversation::open_auction(C, Protocol, Goods, Bidders)
   <- +conversation::goods(C, Goods);
      .map.put(Map, "goods", Goods);
      .map.freeze(Map, Opening);
      for (.member(Bidder, Bidders)) {
         !conversation::begin(C, Bidder, Protocol);
         !conversation::say(C, Bidder, inform, Opening, [])
      }.

// Content of most messages of an auction, as in all languages.
+!conversation::priced(Goods, Price, Content)
   <- .map.put(Map, "goods", Goods);
      .map.put(Map, "price", Price);
      .map.freeze(Map, Content).

// Bids: agents that bid the price, in the order of their bids. Enough: one bid, or all answers.
+!conversation::call_price(C, Goods, Bidders, Price, Ms, Enough, Bids)
   <- !conversation::priced(Goods, Price, Call);
      for (.member(Bidder, Bidders) & not conversation::over(C, Bidder, _)) {
         !conversation::ask(C, Bidder, cfp, Call, Ms)
      };
      .wait(conversation::has_answers(C, Bidders, Enough), Ms, _);
      for (.member(Bidder, Bidders)) {
         !conversation::tick(C, Bidder)
      };
      // Beliefs are found newest first.
      .findall(A, conversation::last(C, A, propose, _) & conversation::state(C, A, proposed), Newest);
      .reverse(Newest, Bids).

conversation::has_answers(C, Bidders, one)
   :- .member(A, Bidders) & conversation::state(C, A, proposed).
conversation::has_answers(C, Bidders, _)
   :- not (.member(A, Bidders) & (conversation::state(C, A, called) | conversation::state(C, A, called_leading))).

+!conversation::close_auction(C, Bidders, Outcome)
   : conversation::goods(C, Goods)
   <- .abolish(conversation::goods(C, _));
      !conversation::result_of(Goods, Outcome, Result);
      for (.member(Bidder, Bidders) & not conversation::over(C, Bidder, _)) {
         !conversation::say(C, Bidder, inform, Result, [])
      }.

+!conversation::result_of(Goods, sold(A, Price), Result)
   <- .map.put(Map, "goods", Goods);
      .map.put(Map, "price", Price);
      .concat(A, "", Winner);
      .map.put(Map, "winner", Winner);
      .map.freeze(Map, Result).
+!conversation::result_of(Goods, unsold, Result)
   <- .map.put(Map, "goods", Goods);
      .map.freeze(Map, Result).

// ---- Bidder

+!conversation::bid_price(C, From, Call)
   : .map.get(Call, "goods", Goods) & .map.get(Call, "price", Price)
   <- !bid_for(Goods, Price)[source(From)];
      .map.put(Map, "price", Price);
      .map.freeze(Map, Bid);
      !conversation::answer_call(C, From, Call, propose, Bid).
-!conversation::bid_price(C, From, Call)[error(_), error_msg(Why)]
   <- !conversation::answer_call(C, From, Call, refuse, Why).

// The time for the price, or the auction, may be over when a bidder has decided.
+!conversation::answer_call(C, From, Call, Performative, Content)
   <- !conversation::tick(C, From);
      if (conversation::state(C, From, called) & conversation::last(C, From, cfp, Call)) {
         !conversation::say(C, From, Performative, Content, [])
      }.

+!conversation::auction_won(Outcome)
   : .map.get(Outcome, "goods", Goods) & .map.get(Outcome, "price", Price)
   <- !conversation::tell_won(Goods, Price).
+!conversation::auction_lost(Outcome)
   : .map.get(Outcome, "goods", Goods)
   <- !conversation::tell_lost(Goods).

+!conversation::tell_won(Goods, Price)
   : not .relevant_plans({+!won(Goods, Price)}, [])
   <- !won(Goods, Price).
+!conversation::tell_won(_, _).
+!conversation::tell_lost(Goods)
   : not .relevant_plans({+!lost(Goods)}, [])
   <- !lost(Goods).
+!conversation::tell_lost(_).
