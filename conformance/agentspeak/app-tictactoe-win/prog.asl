line([1,2,3]). line([4,5,6]). line([7,8,9]). line([1,4,7]). line([2,5,8]). line([3,6,9]). line([1,5,9]). line([3,5,7]).
wins(P) :- line(L) & all(P,L).
all(_,[]).
all(P,[H|T]) :- mark(H,P) & all(P,T).
free(X) :- .range(X,1,9) & not mark(X,_).
threat(P,X) :- free(X) & line(L) & .member(X,L) & .count(mark(Y,P) & .member(Y,L),2).
!play([x(5),o(1),x(9),o(4)]).
+!play([M|T]) <- M =.. [P,[C],_]; +mark(C,P); !play(T).
+!play([]) <- .findall(X,threat(o,X),L); .print(L); .findall(X,threat(x,X),K); .print(K); +mark(7,o); if (wins(o)) { .print("o wins") }; if (wins(x)) { .print("x wins") } else { .print("x lost") }; .findall(F,free(F),Fs); .print(Fs); .stopMAS.
