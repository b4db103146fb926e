// Amy has a goal. Press Run, then choose her on the right.
!greet(bob).

+!greet(Who)
   <- .print("hello, ", Who);
      .send(Who, tell, hello);
      .wait(answered(Who));
      .print(Who, " is there").

// Bob's message becomes a belief of Amy, with Bob as its source.
+fine[source(Who)] <- +answered(Who).
