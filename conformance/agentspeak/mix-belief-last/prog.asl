// A plan whose last step changes a belief ends one turn of its intention later, also if nobody hears of the change.
d(0).
!count.
!work.
+!count
  <- .print(1); .print(2); .print(3); .print(4); .print(5); .print(6); .print(7); .print(8); .print(9); .print(10);
     .print(11); .print(12); .print(13); .print(14); .print(15); .print(16); .print(17); .print(18).
+!work
  <- .print(a); !add; .print(b); !remove; .print(c); !replace; .print(d); !same; .print(e); !none; .print(f); .stopMAS.
+!add <- +d(3).
+!remove <- -d(3).
+!replace <- -+d(4).
+!same <- +d(4).
+!none <- -d(9).
