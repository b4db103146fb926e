!go.
pal(S) :- .reverse(S,S).
+!go <- for (.member(W,["level","hello","","a"])) { if (pal(W)) { .print(W," yes") } else { .print(W," no") } }; .stopMAS.
