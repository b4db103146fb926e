// A tell message becomes a belief, and a new belief is an event.
+hello[source(Who)]
   <- .print(Who, " says hello");
      .wait(500);
      .send(Who, tell, fine).
