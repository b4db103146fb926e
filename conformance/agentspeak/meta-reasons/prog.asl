!go.
+!go <- !a; !!b; .wait(20); !c; .wait(30); .stopMAS.
+!a <- .wait(10).
+!b <- !nope.
+!c <- .fail.
-!c <- .print(handled_c).
^!a[state(S)[reason(R)]] : S == finished | S == achieved | S == pending <- .print("a ",S," ",R).
^!b[state(failed)[reason(R)]] <- .print("b failed ",R).
^!nope[state(S)[reason(R)]] : S \== executing <- .print("nope ",S," ",R).
^!c[state(S)[reason(R)]] : S == failed <- .print("c ",S," ",R).
