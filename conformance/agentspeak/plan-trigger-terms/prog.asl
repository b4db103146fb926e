!go.
+!go <- T = { +!g(1) }; .print(T); .relevant_plans(T,L); .length(L,N); .print(N); .signal({ +ev(2) }); .wait(20); T2 = { +ev(3) }; .signal(T2); .wait(20); .stopMAS.
+!g(X).
+ev(X) <- .print("ev ",X).
