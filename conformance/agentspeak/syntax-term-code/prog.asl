!go.
+!go <- .print({ +!g(X) : c <- b }); .print({ @l[x] +e <- b }); .print({ +!g }); .print({ -e }); .print({ ?t }); .print({ ^!g[state(S)] });
  .print({ a; !g; +b; -c; ?d }); .print({ h :- b }); .print({ h(X) :- b & (c | d) }); .print({});
  .print({ +!g : true <- true }); .print({ -!g[error(E)] <- .print(E) }); .print({ +b(X)[source(S)] }); .print({ +?q(X) <- X = 3 });
  .print({ !!x; ++y; --z; -+w; +<v; +>u }); .print({ X }); .print({ .print(a) }); .stopMAS.
