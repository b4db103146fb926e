!s.
+!s <- .broadcast(tell,hello(1)); .broadcast(achieve,greet); .wait(80); if (hello(_)) { .print(bad) } else { .print(not_me) }; .stopMAS.
