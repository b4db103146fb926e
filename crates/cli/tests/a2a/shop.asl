// Agent that A2A clients drive in tests.

!open.
+!open <- .df_register("tea", "shop").

+!kqml_received(Client, request, "price of tea", Id) <- .send(Client, inform, "5 euros", Id).
+!kqml_received(Client, request, "brew", Id)
   <- .send(Client, agree, "water is on", Id);
      .send(Client, inform, "a cup of tea", Id).
+!kqml_received(Client, request, "paint", Id)
   <- .send(Client, askOne, "which colour?", Colour);
      .concat("painted ", Colour, Done);
      .send(Client, inform, Done, Id).
+!kqml_received(Client, request, "long", Id)
   <- .send(Client, agree, "it takes a while", Id);
      .wait(400);
      .send(Client, inform, "at last", Id).
+!kqml_received(Client, request, "sing", Id) <- .send(Client, refuse, "I sell tea", Id).
+!kqml_received(Client, cancel, _, Id) <- .send(Client, inform, "stopped", Id).
+!kqml_received(Client, request, price(What), Id) <- .send(Client, inform, price(What, 5), Id).
+!kqml_received(Client, request, "break", Id) <- .fail.
