// Shop whose services clients of MCP call.

stock(tea, 9).

!open.

+!open
   <- .df_register(price, shop, [
         about("Price of an item in euros"),
         input([item(string, "What is bought"), count(integer, optional)]),
         output([euros(number)])]);
      .df_register(order, shop, [about("Orders an item"), input([item(atom)])]);
      .df_register(brew, shop, [about("Makes tea, which takes a while"), input([])]);
      .df_register(wait, shop, [about("Never ends"), input([])]);
      .df_register(menu, shop, [uri("shop://menu"), media_type("text/plain")]);
      .df_register(advertise, prompt, [about("Text of an advertisement"), input([item(string)])]);
      .df_register(secret, shop).

+!price("tea", Count)[source(Client)] : .number(Count) <- .send(Client, inform, price(2.5 * Count)).
+!price("tea", _)[source(Client)] <- .send(Client, inform, price(2.5)).
+!price(Item, _)[source(Client)] <- .concat("there is no ", Item, Why); .send(Client, refuse, Why).

+!order(Item)[source(Client)]
   : stock(Item, N) & N > 0
   <- .send(Client, askOne, "Which cup?", Cup);
      -+stock(Item, N - 1);
      .concat(Item, " in a ", Cup, " cup", Served);
      .send(Client, inform, Served).
+!order(_)[source(Client)] <- .send(Client, failure, "sold out").

+!brew[source(Client)]
   <- .send(Client, agree, "water is on");
      .send(Client, inform, progress(1, 2, "water boils"));
      .send(Client, inform, progress(2, 2, "tea draws"));
      .send(Client, inform, "tea").

+!wait[source(Client)] <- .send(Client, agree, "soon"); .wait(600000).
+!kqml_received(Client, cancel, Content, _) <- .print("called off: ", Content); .drop_desire(Content).

+!menu[source(Client)] <- .send(Client, inform, "tea 2.50").
+!advertise(Item)[source(Client)]
   <- .concat("Write one line about our ", Item, ".", Text);
      .send(Client, inform, [user(Text), assistant("With pleasure.")]).
