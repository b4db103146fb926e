!s.
+!s <- .wait(30); !ask(10).
+!ask(13) <- .send(server,tell,done).
+!ask(N) <- .send(server,achieve,compute(N)); .wait(result(N,F)); .print(N," ",F); !ask(N+1).
