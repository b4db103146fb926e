s("plain"). s(""). s("with \"quotes\""). s("tab\tx"). s("it's"). s("a'b"). s("unicode é ß 漢").
!go.
+!go <- for (s(X)) { .print(X,"|",[X]) }; .print("a","b" ," c"); .stopMAS.
