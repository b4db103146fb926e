!go.
+!t(N,C) : C <- .print(N," true").
+!t(N,_) <- .print(N," false").
+!go <- if (1 < 2) { .print(lt) }; if (2 <= 2) { .print(le) }; if (3 > 2) { .print(gt) }; if (2 >= 3) { .print(ge) } else { .print(not_ge) };
  if (1 == 1.0) { .print(eq) }; if (a \== b) { .print(ne) }; if ("a" == a) { .print(bad) } else { .print(str_ne) }; if (X = 4) { .print(X) };
  if (f(Y,2) = f(1,Z)) { .print(Y,Z) }; if (W == W) { .print(var_eq) }; if (W == V) { .print(bad) } else { .print(var_ne) };
  if (3 == 2+1) { .print(arith) }; if (1+1 = 2) { .print(unify) }; if ([1,2] == [1,2]) { .print(list) }; if (a[x] == a) { .print(bad) } else { .print(annot_ne) };
  if (a[x,y] == a[y,x]) { .print(set_eq) }; if (~a \== a) { .print(neg_ne) }; if ("abc" < "abd") { .print(strlt) }; if (a < b) { .print(atomlt) }; if (1 < a) { .print(numlt) };
  if ("z" < a) { .print(strlt2) }; if ([z] < a) { .print(listlt) }; if ([1,2] < [1,3]) { .print(listlt2) }; if (f(1) < f(1,1)) { .print(aritylt) }; if (f(2) > f(1,5)) { .print(argfirst) };
  if (a < ~a) { .print(neglt) }; if (a < a[x]) { .print(annotlt) }; .stopMAS.
