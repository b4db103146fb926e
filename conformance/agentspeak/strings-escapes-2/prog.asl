!go.
+!go <- .print("quote \" inside"); .print("tab \t end"); .print("it's"); .length("a\tb",N); .print(N); .length("\"",M); .print(M); .print(["a\"b"]); .length("a\nb",K); .print(K); .concat("x\"","y",S); .print(S," ",[S]); .stopMAS.
