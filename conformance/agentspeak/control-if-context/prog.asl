!go.
+!go <- X = 3; if (X > 2 & X < 5) { .print(1) }; if (X == 3 | X == 4) { .print(2) }; if (not (X > 5)) { .print(3) }; if (.member(X,[1,2,3])) { .print(4) }; if (Y = X*2 & Y > 5) { .print(Y) }; if (b(_)) { .print(bad) } elif (X == 9) { .print(bad) } elif (X == 3) { .print(5) } else { .print(bad) }; .stopMAS.
