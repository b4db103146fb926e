!go.
+!go <- .sort(["banana","apple","Cherry","a","B","10","9"],L); .print(L); if ("a" < "b") { .print(1) }; if ("Z" < "a") { .print(2) }; if ("abc" == "abc") { .print(3) }; if ("abc" \== abc) { .print(4) }; .max(["x","z","y"],M); .print(M); .concat("ab","c",S); if (S == "abc") { .print(5) }; .stopMAS.
