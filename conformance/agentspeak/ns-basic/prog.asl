a::p(1). b::p(2). p(0).
!go.
+!go <- ?a::p(X); ?b::p(Y); ?p(Z); .print(X,Y,Z); +a::p(10); .findall(Q,a::p(Q),L); .print(L); -a::p(1); .count(a::p(_),N); .print(N); !a::g(3); !g(4); +b::e(5); .stopMAS.
+!a::g(X) <- .print("a::g ",X).
+!g(X) <- .print("g ",X).
+b::e(X) <- .print("b::e ",X).
