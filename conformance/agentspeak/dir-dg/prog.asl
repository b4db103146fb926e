!go.
+!go <- !at(home); .print(there); .stopMAS.
{ begin dg(at(home)) }
+!at(home) <- .print(walk); +at(home); .print(after).
{ end }
