!go.
+!go <- +{ @a1 +!a <- .print(a1) }; !a; +{ @a2 +!a <- .print(a2) }; !a; +>{ @a3 +!a <- .print(a3) }; -{ @a2 +!a <- .print(a2) }; !a; -{ @a1 +!a <- .print(a1) }; !a; .stopMAS.
