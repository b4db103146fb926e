+!kqml_received(S,propose,offer(N),_) <- .print("proposal ",N," from ",S).
+!kqml_received(S,request,L,_) <- .print("request ",L).
+!kqml_received(S,inform,T,_) <- .print("inform ",T).
+!kqml_received(S,ping,N,_) <- .print("ping ",N+1).
+!kqml_received(S,P,C,_) : P == unknown_one <- .print("other ",P," ",C); .stopMAS.
