!go.
+!go <- !!w1; !!w2; .wait(30); .findall(S,.intention(_,S,[im(_,{+!w1[|_]},_,_)|_]),L); L = [A]; A =.. [F,_,_]; .print(F); .findall(S,.intention(_,S,[im(_,{+!w2[|_]},_,_)|_]),L2); .print(L2);
  .intention(I,S3,K,current); .length(K,N); .print(S3," ",N); .findall(X,.intention(X,_),L4); .length(L4,N4); .print(N4); .stopMAS.
+!w1 <- .wait(500).
+!w2 <- .suspend.
