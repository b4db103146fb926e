// Shop: gives each parcel to the cheapest courier, and waits for its delivery.

!open.

+!open
   <- .df_subscribe("courier");
      .wait(.count(provider(_, "courier"), 3), 60000);
      !deliver(letter, old_town);
      !deliver(cake, hill);
      !deliver(piano, island);
      .print("the shop is closed");
      .stopMAS.

+!deliver(What, Where)
   <- .findall(A, provider(A, "courier"), Couriers);
      .send(Couriers, cfp, deliver(What, Where));
      .wait(.count(answer(What, _, _), 3), 5000);
      .findall(offer(Price, A), answer(What, A, offer(Price)), Offers);
      .min(Offers, offer(Least, Courier));
      .print(Courier, " takes the ", What, " to the ", Where, " for ", Least);
      .send(Courier, accept_proposal, deliver(What, Where));
      .wait(delivered(What)[source(Courier)], 5000).

+!kqml_received(A, propose, offer(What, Price), _) <- +answer(What, A, offer(Price)).
+!kqml_received(A, refuse, deliver(What, _), _) <- +answer(What, A, no).
+!kqml_received(A, inform, delivered(What), _) <- +delivered(What)[source(A)].
