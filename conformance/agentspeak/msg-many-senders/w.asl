!v.
+!v : .my_name(N) <- .wait(30); .send(hub,tell,vote(N)).
