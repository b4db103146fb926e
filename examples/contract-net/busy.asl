// A contractor that has no time for anything, and is polite enough to say so.

!register.
+!register <- .df_register("contractor").

+!kqml_received(Initiator, cfp, Job, _)
   <- .send(Initiator, refuse, Job).
