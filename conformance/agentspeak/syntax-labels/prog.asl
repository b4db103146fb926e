@first +!a(1) <- .print(first).
@second[cost(2),x] +!a(2) : true & true <- .print(second).
@[atomic] +!a(3) <- .print(third).
@l4[arg(1)] +!a(4) : true & true <- .print(fourth).
@begin +!b <- .print(b).
@end +!c <- .print(c).
!go.
+!go <- !a(1); !a(2); !a(3); !b; !c; .plan_label(P,second); P =.. [L|_]; .print(L); .stopMAS.
