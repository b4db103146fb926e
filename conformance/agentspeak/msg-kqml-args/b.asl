+!kqml_received(S,mytell,C,_) <- C =.. [F,A,_]; +got(F,A)[source(S)].
+got(F,A)[source(S)] <- .print(F," ",A," ",S).
+!go(X)[source(S)] <- .print(go,X,S).
+s(X)[source(S)] <- .print(s,X,S); .wait(20); .stopMAS.
