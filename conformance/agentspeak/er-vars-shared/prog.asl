!go.
+!go <- !p(1,k); !p(2,m); .stopMAS.
+!p(X,Y) : Z = X*10 <- !q; !r(Y). {
  +!q <- .print(X," ",Y," ",Z).
  +!r(W) : W == Y <- .print("same ",W).
}
