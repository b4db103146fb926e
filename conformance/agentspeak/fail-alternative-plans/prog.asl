!go.
+!go <- !cook(pizza); !cook(soup); !cook(none); .print(end); .stopMAS.
+!cook(X) : fresh(X) <- .print("fresh ",X).
+!cook(X) : X \== none <- .print("try ",X); !oven(X); .print("cooked ",X).
+!oven(soup).
-!cook(X)[error(E)] <- .print("plan b for ",X," ",E).
fresh(nothing).
