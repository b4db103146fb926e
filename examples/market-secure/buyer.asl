// Finds out who sells what it wants, wherever that may be, and buys it.

!shop.

+!shop : wants(Thing, Count) <- .df_search(Thing, [Seller|_]); .send(Seller, achieve, buy(Thing, Count)).

+sold(Thing, Coins)[source(Seller)] <- .print(Seller, " sold me ", Thing, " for ", Coins, " coins").
