// A belief with a variable is replaced by another one: two different variables.
d(1).
!s.
+!s <- -+d(Y); .print(a); -+d(Y); .print(e); .stopMAS.
-d(f(Y)) <- .print(minus).
