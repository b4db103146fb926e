// Bank: stores the sellers' money. The policy, not the bank, admits only sellers.

+takings(Coins, Thing, Customer)[source(Seller)]
   <- .print(Coins, " coins from ", Seller);
      .send(clock, tell, deal(Thing, Customer)).

+!pay(Who, Coins)
   <- .print("paid ", Coins, " coins to ", Who, ": this should not have happened").
