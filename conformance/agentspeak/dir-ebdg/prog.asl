!go.
+!go <- !have(x); .print(achieved); .stopMAS.
{ begin ebdg(have(x)) }
+!have(x) <- .print(way1).
+!have(x) <- .print(way2); +have(x).
+!have(x) <- .print(way3).
{ end }
