// Seller of a clock: the price rises until one bidder is left.
bidders([ada, bruno, chloe]).

!sell(clock, 100).

+!sell(What, Price) : bidders(All)
   <- .print("who gives ", Price, " for the ", What, "?");
      .abolish(bid(_, _));
      .send(All, cfp, price(What, Price));
      .wait(.count(bid(Price, _)[source(_)], 3), 5000);
      .findall(Who, bid(Price, yes)[source(Who)], Still);
      !go_on(What, Price, Still).

+!go_on(What, Price, [Winner])
   <- .print("sold to ", Winner, " for ", Price);
      .send(Winner, tell, yours(What, Price)).
+!go_on(What, Price, [])
   <- .print("nobody: the ", What, " is not sold").
+!go_on(What, Price, Still)
   <- .length(Still, N);
      .print(N, " bidders stay");
      .wait(300);
      !sell(What, Price + 20).

+!kqml_received(Who, propose, bid(Price, Says), _) <- +bid(Price, Says)[source(Who)].
