!s.
+!s <- .create_agent(Bob,"w.asl"); .print(Bob); .wait(50); .create_agent(bob,"w.asl"); .wait(50); .all_names(L); .sort(L,S); .print(S); .stopMAS.
