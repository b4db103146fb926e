a::k(1). b::k(2). c::k(3).
!go.
+!go <- N = b; ?N::k(X); .print(X); .setof(f(M,Y),M::k(Y),L); .print(L); W = c; +W::k(4); .findall(Q,c::k(Q),L2); .print(L2); !W::g(5); .stopMAS.
+!NS::g(X) <- .print("goal in ",NS," ",X).
