n(5). n(3).
!go.
+!go <- !t(5); !t(3); !t(1); .stopMAS.
+!t(X) : n(X) & X > 4 <- .print(X," big").
+!t(X) : n(X) <- .print(X," small").
+!t(X) : not n(X) <- .print(X," none").
