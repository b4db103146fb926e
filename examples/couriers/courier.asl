// Courier: delivers the kinds of parcels for which it has a rate.

!register.
+!register <- .df_register("courier").

+!kqml_received(Shop, cfp, deliver(What, _), _) : rate(What, Price)
   <- .send(Shop, propose, offer(What, Price)).
+!kqml_received(Shop, cfp, Job, _)
   <- .send(Shop, refuse, Job).

+!kqml_received(Shop, accept_proposal, deliver(What, _), _)
   <- .print("brings the ", What);
      .send(Shop, inform, delivered(What)).
