// Register: set(7) stores a value, value(V) returns it. `whimbrel chaos` asks both all the time.

value(0).

@set[atomic]
+?set(V) <- -+value(V).
