// Auditor: adds up the balances of all accounts when it is asked for the total.

+?total(T) <- !add(1, 0, T).

+!add(9, Sum, Sum).
+!add(K, Sum, Total)
   <- .concat("account", K, Name);
      .send(Name, askOne, balance(_), balance(B));
      !add(K + 1, Sum + B, Total).
