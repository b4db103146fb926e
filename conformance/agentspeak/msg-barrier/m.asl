!s.
+!s <- .wait(30); !phase(1); !phase(2); .print(end); .stopMAS.
+!phase(P) <- .print("phase ",P); .broadcast(achieve,work(P)); .wait(.count(ready(P)[source(_)],3)).
