+ok[source(S)] <- .print("still alive ",S); .stopMAS.
-!kqml_received(S,P,C,_)[error(E)] <- .print("problem with ",P," ",C," ",E).
