+x(V)[source(S)] <- .print(V," ",S).
+!g(V)[prio(P),source(S)] <- .print(V," ",P," ",S).
+fin <- ?x(1)[|L]; .print(L); .stopMAS.
