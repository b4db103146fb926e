!go.
+!go <- !g; .wait(20); .stopMAS.
+!g <- !act; .print(after).
+!act <- ext_action(1).
-!act[error(E)] <- .print(E).
^!act[state(S)[reason(R)]] : S \== executing & S \== pending <- .print(S," ",R).
