!s.
+!s : .my_name(a1) <- .wait(40); .all_names(L); .sort(L,S); .print(S); .send([b,c,a2],achieve,who); .wait(60); .stopMAS.
+!s <- .my_name(N); .print(N).
+!who <- .my_name(N); .print(N).
