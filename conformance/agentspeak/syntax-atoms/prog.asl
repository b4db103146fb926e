b(a). b(aB). b(a_b). b(a1). b('Upper'). b('with space'). b('it is "q"'). b('').
!go.
+!go <- for (b(X)) { .print(X) }; .findall(X,b(X) & .atom(X),L); .length(L,N); .print(N);
  if ('a' == a) { .print(same) } else { .print(differ) }; if ('x y' == 'x y') { .print(same2) };
  .print('f g'(1,'H')); .stopMAS.
