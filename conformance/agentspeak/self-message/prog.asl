// A message to oneself is there in the next cycle.
!start.
+!start
  <- .my_name(Me);
     .send(Me, tell, noted(1));
     .print("a ", 1); 
     !look(1);
     .print("b ", 1);
     !look(2);
     .send(Me, achieve, extra(2));
     !spin(3);
     .send(Me, tell, noted(3));
     !look(3);
     !look(4);
     .wait(100);
     .stopMAS.
+!look(K) : noted(N) <- .print("look ", K, ": ", N).
+!look(K) <- .print("look ", K, ": nothing").
+noted(N)[source(S)] <- .print("noted ", N, " by ", S).
+!extra(N) <- .print("extra ", N); .print("extra again ", N).
+!spin(0).
+!spin(N) <- .print("spin ", N); !spin(N-1).
