!go.
+!go <- !a(1); !a(2); !a(3); !a(4); .stopMAS.
+!a(1) <- !undefd.
+!a(2) <- .fail.
+!a(3) <- ?foo(3).
+!a(4) <- act.
-!a(X)[error(no_relevant)] <- .print(X," no plan").
-!a(X)[error(ia_failed)] <- .print(X," ia").
-!a(X)[error(test_goal_failed)] <- .print(X," test").
-!a(X)[error(E)] <- .print(X," other ",E).
