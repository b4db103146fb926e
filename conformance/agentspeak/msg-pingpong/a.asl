!s.
+!s <- .send(b,achieve,ping(5)).
+!pong(0)[source(S)] <- .print("done with ",S); .stopMAS.
+!pong(N)[source(S)] <- .print("pong ",N); .send(S,achieve,ping(N-1)).
