!go.
+!go <- (.wait(40); .print(slow)) |&| (.wait(10); .print(fast)) |&| .print(now); .print(end); .stopMAS.
