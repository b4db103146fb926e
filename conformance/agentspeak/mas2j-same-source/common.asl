!s.
+!s : master <- .wait(30); .print(master); .send([alpha,gamma],tell,ping).
+!s <- .print(slave).
+ping[source(S)] <- .print("ping from ",S); .send(S,tell,pong).
+pong[source(A)] : .count(pong[source(_)],2) <- .print(both); .stopMAS.
