!go.
+!go <- .print([]," ",[a]," ",[a,b]," ",[a,[b,[c]],d]," ",[1,"s",X,f(Y)]);
  [H|T] = [1,2,3]; .print(H," ",T); [A,B|C] = [1,2]; .print(A,B,C); [|W] = [x,y]; .print(W);
  L = [z|[y,x]]; .print(L); [P|[Q|R]] = [1,2,3,4]; .print(P,Q,R); .print([a|T2]);
  if ([] = [_|_]) { .print(bad) } else { .print(empty_no_match) };
  if ([a,b] = [_,_]) { .print(two) }; if (not [a,b] = [_]) { .print(not_one) }; .stopMAS.
