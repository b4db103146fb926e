// An idle agent: it could answer, but nobody asks.
+!ping[source(A)] <- .send(A, achieve, pong).
