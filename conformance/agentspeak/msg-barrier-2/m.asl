!s.
all(P) :- .findall(S,ready(P)[source(S)],L) & .length(L,3).
+!s <- .wait(30); !phase(1); !phase(2); .print(end); .stopMAS.
+!phase(P) <- .print("phase ",P); .broadcast(achieve,work(P)); .wait(all(P)).
