!go.
+!go <- !!w(1); !!w(2); !!w(3); .wait(20); .drop_intention(w(2)); .findall(X,.intend(w(X)),L); .sort(L,S); .print(S); .drop_intention(w(_)); .count(.intend(w(_)),N); .print(N); .drop_intention(nothing); .wait(100); .print(end); .stopMAS.
+!w(X) <- .wait(60); .print("should not ",X).
