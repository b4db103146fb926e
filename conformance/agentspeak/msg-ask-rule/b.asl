n(1). n(5). n(9).
big(X) :- n(X) & X > 3.
