!s.
+!s <- .send(worker,achieve,long); .wait(60); .send(worker,tell,urgent(1)); .wait(60); .send(worker,achieve,fin).
