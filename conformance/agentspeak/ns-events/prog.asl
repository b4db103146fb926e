!go.
+!go <- +a::x(1); +b::x(2); +x(3); -a::x(1); -+b::x(4); .wait(20); .stopMAS.
+a::x(V) <- .print("+a ",V).
-a::x(V) <- .print("-a ",V).
+b::x(V) <- .print("+b ",V).
+x(V) <- .print("+ ",V).
