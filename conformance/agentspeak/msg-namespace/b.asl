+n::p(X)[source(S)] <- .print("n::p ",X," ",S).
+p(X) <- .print("p ",X).
+!n::g(X) <- .print("n::g ",X).
+!fin <- .findall(X,n::p(X),L); .print(L); .stopMAS.
