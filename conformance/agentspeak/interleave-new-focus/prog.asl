!go.
+!go <- for (.range(I,1,3)) { !!w(I); .print("spawn ",I) }; .print(spawned); .wait(30); .stopMAS.
+!w(I) <- .print("w",I,"a"); .print("w",I,"b").
