!go.
+!go <- .length("hello",A); .length("",B); .length([a,[b,c]],C); .print(A,B,C); if (.empty("")) { .print(e1) }; if (.empty([])) { .print(e2) }; if (not .empty([[]])) { .print(e3) }; if (not .empty("  ")) { .print(e4) };
  X = .length("abc") + .length([1,2]); .print(X); if (.length(atom,N)) { .print(bad) } else { .print(no_len) }; .length([a|T],M); .print(M); .stopMAS.
