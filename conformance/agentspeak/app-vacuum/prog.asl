pos(0). dirty(1). dirty(3).
!clean.
+!clean : pos(4) <- .findall(X,cleaned(X),L); .print("done ",L); .stopMAS.
+!clean : pos(P) & dirty(P) <- .print("suck ",P); -dirty(P); +cleaned(P); !clean.
+!clean : pos(P) <- .print("move ",P+1); -+pos(P+1); !clean.
-dirty(P) <- .print("cleaned ",P).
