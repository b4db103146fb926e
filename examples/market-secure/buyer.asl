// Buyer: searches for a seller of its goods on any node, and buys them.

!shop.

+!shop : wants(Thing, Count) <- .df_search(Thing, [Seller|_]); .send(Seller, achieve, buy(Thing, Count)).

+sold(Thing, Coins)[source(Seller)] <- .print(Seller, " sold me ", Thing, " for ", Coins, " coins").
