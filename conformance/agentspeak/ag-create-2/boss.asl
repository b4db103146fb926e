!s.
+!s <- .create_agent(w1,"worker.asl"); .create_agent("w2","worker.asl"); .wait(60); .send([w1,w2],achieve,hello); .wait(60); .all_names(L); .sort(L,S); .print(S); .kill_agent(w1); .wait(50); .all_names(L2); .sort(L2,S2); .print(S2); .stopMAS.
+hi[source(S)] <- .print("hi from worker").
