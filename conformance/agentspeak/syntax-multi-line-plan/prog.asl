!go.
+!go
   :  x(A) &
      not y(A)
      | z
   <- .print(
        "multi ",
        A
      );
      .stopMAS
   .
x(1).
