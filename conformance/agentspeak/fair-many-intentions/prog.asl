!go.
+!go <- for (.range(I,1,5)) { !!w(I,3) }; .wait(40); .stopMAS.
+!w(I,0) <- .print(end,I).
+!w(I,N) <- .print(I,":",N); !w(I,N-1).
