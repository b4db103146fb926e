!go.
+!go <- !c(5); .my_name(N); if (N == off) { .wait(60); .stopMAS }.
+!c(0) <- .intention(_,_,S,current); .length(S,N); .print("stack ",N).
+!c(N) <- !c(N-1).
