// Seller: sells one thing at one price, and brings the money to the bank.

!open.

+!open : sells(Thing, _) <- .df_register(Thing).

+!buy(Thing, Count)[source(Customer)] : sells(Thing, Price)
   <- .print(Count, " ", Thing, " for ", Customer);
      .send(bank, tell, takings(Count * Price, Thing, Customer));
      .send(Customer, tell, sold(Thing, Count * Price)).
