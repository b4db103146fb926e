// Keeps the takings. Its doors are for sellers: the policy says so, not the bank.

+takings(Coins, Thing, Customer)[source(Seller)]
   <- .print(Coins, " coins from ", Seller);
      .send(clock, tell, deal(Thing, Customer)).

+!pay(Who, Coins)
   <- .print("paid ", Coins, " coins to ", Who, ": this should not have happened").
