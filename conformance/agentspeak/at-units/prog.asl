!go.
+!go <- .at("now +30",{+!g}); .at("now +1 hour",{+!no}); .at("now +60 milliseconds",{+!h}).
+!g <- .print(g).
+!h <- .print(h); .stopMAS.
+!no <- .print(no).
