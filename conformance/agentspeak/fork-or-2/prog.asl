!go.
+!go <- (.print(a1); .print(a2); .print(a3); .print(a4)) ||| (.print(b1); .print(b2)); .print(end); .wait(30); .stopMAS.
