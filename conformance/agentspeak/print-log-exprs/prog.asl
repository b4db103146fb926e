!go.
+!go <- .print((a & b & c)); .print((a | b | c)); .print((a & (b | c))); .print(not (a & b)); .print(X == 1); .print(X \== Y); .print((X > 1 & X < 3)); .print(X =.. [f,[1],[]]);
  .print(f(X >= 2)); .print([(a & b)]); .print((a & b) = C); .stopMAS.
