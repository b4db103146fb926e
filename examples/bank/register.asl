// Holds a value: asked set(7) it takes another one, asked value(V) it says which it has. `whimbrel chaos` asks it all the time.

value(0).

@set[atomic]
+?set(V) <- -+value(V).
