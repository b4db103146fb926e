!go.
+!go <- (.wait(200); .print(never)) ||| (.wait(20); .print(fast)); .print(end); .wait(250); .stopMAS.
