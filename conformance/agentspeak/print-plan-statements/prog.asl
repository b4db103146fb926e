@s1 +!g : k <- if (a(X)) { b; c } else { d }; while (x(Y) & Y < 3) { e }; for (m(Z)) { f(Z); g }; if (a) { b } elif (c) { d } else { e }.
@s2 +!h : k <- a |&| b; c ||| d; (x; y) |&| z.
!go.
+!go <- .plan_label(P,s1); P =.. [_,_,_,B]; .print(B); .plan_label(P2,s2); P2 =.. [_,_,_,B2]; .print(B2); .stopMAS.
