// Contractor that gets the call and never answers. It is the reason for the initiator's deadline.

!register.
+!register <- .df_register("contractor").

+!kqml_received(_, cfp, _, _).
