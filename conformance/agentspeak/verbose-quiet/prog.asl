// Level 0 prints bare text, and shows no notes below warnings; 1 and 2 print lines.
!go.
+!go
  <- .print("one"); .verbose(0); .print("two", 2); .println("three"); .log(info, "hidden"); .puts("hidden");
     .log(warning, "careful"); .log(severe, "bad"); .println("four"); .verbose(1); .print("back");
     .verbose(2); .print("loud"); .stopMAS.
