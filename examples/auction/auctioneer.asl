// Auctioneer of an English auction: the price rises, bidders leave, and the last one in the room gets the lot.

// lot(Name, First price, Step).
lot(sea_chart, 60, 15).
lot(ship_clock, 90, 30).
lot(ship, 5000, 500).

// The directory reports each present and future bidder: provider(Agent, Service). All bidders are here when every
// agent but the auctioneer and the directory is one.
everybody_is_here
   :- .my_name(Me) & .all_names(All)
   & not (.member(A, All) & A \== Me & A \== df & not provider(A, "bidder")).

!open.

+!open
   <- .df_subscribe("bidder");
      .wait(everybody_is_here, 60000);
      .findall(lot(L, P, S), lot(L, P, S), Lots);
      for (.member(lot(Lot, Price, Step), Lots)) {
         !sell(Lot, Price, Step)
      };
      .print("The auction is over.");
      .stopMAS.

-!open[error_msg(Why)]
   <- .print("The auction was broken off: ", Why);
      .stopMAS(0, 1).

+!sell(Lot, Price, Step)
   <- .findall(B, provider(B, "bidder"), Found);
      .sort(Found, Room);
      .length(Room, N);
      .print("Lot ", Lot, ": ", N, " in the room, starting at ", Price);
      !call(Lot, Price, Step, Room).

// One round: call the price, wait until all in the room have answered, continue with those that accept.
// Each answer is counted when it arrives: counting all again each time would be slow with thousands of bidders.
+!call(Lot, Price, Step, Room)
   <- .length(Room, N);
      -+missing(N);
      .send(Room, cfp, price(Lot, Price));
      .wait(missing(0), 10000);
      .findall(B, answer(Lot, Price, B, yes), In);
      .sort(In, Still);
      .abolish(answer(Lot, _, _, _));
      !go_on(Lot, Price, Step, Room, Still).

+!go_on(Lot, Price, _, _, [Winner])
   <- !sold(Lot, Price, Winner).

// All left at once: the last accepted price is the one before. If this was the first price, the lot is not sold.
+!go_on(Lot, Price, _, _, []) : lot(Lot, Price, _)
   <- .print("  ", Price, ": nobody. ", Lot, " is not sold").
+!go_on(Lot, Price, Step, [Winner|_], [])
   <- .print("  ", Price, ": nobody");
      !sold(Lot, Price - Step, Winner).

+!go_on(Lot, Price, Step, _, Still)
   <- .length(Still, N);
      .print("  ", Price, ": ", N, " stay");
      !call(Lot, Price + Step, Step, Still).

+!sold(Lot, Price, Winner)
   <- .print("  ", Price, ": going, going, gone. ", Lot, " goes to ", Winner);
      .send(Winner, accept_proposal, price(Lot, Price)).

@yes[atomic]
+!kqml_received(B, propose, price(Lot, Price), _) : missing(N)
   <- +answer(Lot, Price, B, yes);
      -+missing(N - 1).
@no[atomic]
+!kqml_received(B, refuse, price(Lot, Price), _) : missing(N)
   <- +answer(Lot, Price, B, no);
      -+missing(N - 1).
