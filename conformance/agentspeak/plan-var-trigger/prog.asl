!go.
+!go <- !known(1); !foo(2); !bar; +x(3); +y; ?zz(W); .print(W); .stopMAS.
+!known(X) <- .print("known ",X).
+!G[source(S)] <- .print("any goal ",G," ",S).
+B[source(self)] : B \== y <- .print("any belief ",B).
+?T <- T = zz(7)[source(self)]; .print("any test ",T).
