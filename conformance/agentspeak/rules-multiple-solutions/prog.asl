color(red). color(green). color(blue).
diff(X,Y) :- color(X) & color(Y) & X \== Y.
map(A,B,C) :- diff(A,B) & diff(B,C) & diff(A,C).
!go.
+!go <- .count(map(_,_,_),N); .print(N); ?map(X,Y,Z); .print(X,Y,Z); .findall(A,map(A,red,blue),L); .print(L); .setof(c(A,B),diff(A,B),S); .length(S,M); .print(M); .stopMAS.
