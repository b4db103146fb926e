!go.
+!go <- !outer(1); .stopMAS.
+!outer(X) <- !mid(X+1). {
  +!mid(Y) <- !inner(Y+1); !util(mid). {
     +!inner(Z) <- .print(X," ",Y," ",Z); !util(inner).
  }
  +!util(W) <- .print("util ",W," ",X).
}
