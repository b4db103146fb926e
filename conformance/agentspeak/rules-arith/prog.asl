area(circle(R),A) :- A = math.round(math.pi*R*R*100)/100.
area(sq(S),S*S).
tax(X,T) :- X <= 100 & T = 0.
tax(X,T) :- X > 100 & T = (X-100)*0.2.
between(X,A,B) :- X >= A & X <= B.
!go.
+!go <- ?area(circle(2),A); .print(A); ?area(sq(3),B); .print(B); ?tax(50,T1); ?tax(200,T2); .print(T1," ",T2); if (between(5,1,10)) { .print(in) }; if (between(11,1,10)) { .print(bad) } else { .print(out) }; .stopMAS.
