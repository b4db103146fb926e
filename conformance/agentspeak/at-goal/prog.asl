!a.
+!a <- .at("now +60 ms",{+!g(2)}); .at("now +20 ms",{+!g(1)}); .at("now +100",{+b(3)}); .print(set).
+!g(X) <- .print(g,X).
+b(X) <- .print(b,X); .stopMAS.
