+v(X)[|A] : .ground(X) <- .print(X," ",A).
+v(X) <- .print("not ground").
+'Quoted Atom'(X) <- .print(q,X).
+fin <- .wait(30); .stopMAS.
