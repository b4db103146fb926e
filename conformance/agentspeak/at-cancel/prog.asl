!go.
+!go <- .at("now +40 ms",{+!g}); .drop_all_intentions; .wait(90); .print(end); .stopMAS.
+!g <- .print(no).
