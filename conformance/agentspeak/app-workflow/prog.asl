step(1,boil). step(2,pour). step(3,drink).
!tea.
+!tea <- for (step(N,S)) { !do(N,S) }; .print("tea done"); .stopMAS.
+!do(N,boil) <- .print(N," boiling"); +hot.
+!do(N,pour) : hot <- .print(N," pouring").
+!do(N,S) <- .print(N," ",S).
