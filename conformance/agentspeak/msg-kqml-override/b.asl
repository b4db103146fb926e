@k1[atomic] +!kqml_received(S,tell,bad(X),M) <- .print("rejected ",X," from ",S).
+good(X)[source(S)] <- .print("good ",X," ",S).
+bad(X) <- .print("never").
+!job(X)[source(S)] <- .print("job ",X," ",S).
+!fin <- .stopMAS.
