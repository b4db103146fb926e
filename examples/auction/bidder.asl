// Bidder: stays in the room while the price is not above the worth of the lot to it.

// bidder7 is number 7. The worth of a lot differs between bidders, and is the same in every run.
number(N) :- .my_name(Me) & .substring(Digits, Me, 6) & .term2string(N, Digits).

worth(sea_chart, V) :- number(N) & V = 50 + (N * 37) mod 101.
worth(ship_clock, V) :- number(N) & V = 90 + (N * 59) mod 127.
worth(ship, V) :- number(N) & V = 40 * N.

!enter.
+!enter <- .df_register("bidder").

+!kqml_received(Auctioneer, cfp, price(Lot, Price), _) : worth(Lot, V) & Price <= V
   <- .send(Auctioneer, propose, price(Lot, Price)).
+!kqml_received(Auctioneer, cfp, price(Lot, Price), _)
   <- .send(Auctioneer, refuse, price(Lot, Price)).

+!kqml_received(_, accept_proposal, price(Lot, Price), _) : worth(Lot, V)
   <- .print("I have ", Lot, " for ", Price, ", it was worth ", V, " to me").
