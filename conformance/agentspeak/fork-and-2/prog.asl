!go.
+!go <- (.print(a1); .print(a2); .print(a3)) |&| (.print(b1); .print(b2)) |&| .print(c1); .print(end); .stopMAS.
