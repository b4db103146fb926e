// Contractor without time: refuses every call.

!register.
+!register <- .df_register("contractor").

+!kqml_received(Initiator, cfp, Job, _)
   <- .send(Initiator, refuse, Job).
