!go.
+!go <- !a; !b; !c; !d; !e; !f; !g; .stopMAS.
+!a <- .fail.
-!a[error(E),error_msg(M),code(C),code_line(L),code_src(S)] <- .print(E,"|",M,"|",C,"|",L,"|",S).
+!b <- X = 3; X > 5.
-!b[error(E),code(C),code_line(L)] <- .print(E,"|",C,"|",L).
+!c <- ?nothing(1,Z).
-!c[error(E),error_msg(M),code(C),code_line(L)] <- .print(E,"|",C,"|",L).
+!d <- !undefined(7).
-!d[error(E),error_msg(M),code(C),code_line(L)] <- .print(E,"|",M,"|",C,"|",L).
+!e <- !sel(7).
+!sel(X) : X < 5.
-!e[error(E),error_msg(M),code(C),code_line(L)] <- .print(E,"|",M,"|",C,"|",L).
+!f <- act(1,two).
-!f[error(E),error_msg(M),code(C),code_line(L)] <- .print(E,"|",M,"|",C,"|",L).
+!g <- .nth(9,[a],Q).
-!g[error(E),error_msg(M),code(C),code_line(L)] <- .print(E,"|",M,"|",L).
