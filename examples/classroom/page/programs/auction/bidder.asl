// Bidder: accepts prices up to its limit.
+!kqml_received(Seller, cfp, price(What, Price), _) : limit(Most) & Price <= Most
   <- .send(Seller, propose, bid(Price, yes)).
+!kqml_received(Seller, cfp, price(What, Price), _)
   <- .send(Seller, propose, bid(Price, no)).

+yours(What, Price)[source(Seller)]
   <- .print("the ", What, " is mine, for ", Price).
