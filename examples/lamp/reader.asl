// Reader: switches the lamp on and off until it breaks.
!read.

+!read : light
   <- .print("reading");
      press;
      !read.
+!read
   <- press;
      !read.

-!read[failure_reason(Why)]
   <- .print("the lamp is ", Why);
      .stopMAS.

+light <- .print("light").
-light <- .print("dark").
