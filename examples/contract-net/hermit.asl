// A contractor that hears the call and never answers. The initiator's deadline is there because of it.

!register.
+!register <- .df_register("contractor").

+!kqml_received(_, cfp, _, _).
