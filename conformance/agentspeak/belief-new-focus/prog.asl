!go.
+!go <- ++n(1); .print(x1); .print(x2); +m(1); .print(x3); --n(1); .print(x4); .print(x5); -m(1); .print(x6); .stopMAS.
+n(X) <- .print("n",X,"a"); .print("n",X,"b").
-n(X) <- .print("-n",X,"a"); .print("-n",X,"b").
+m(X) <- .print("m",X,"a"); .print("m",X,"b").
-m(X) <- .print("-m",X,"a"); .print("-m",X,"b").
