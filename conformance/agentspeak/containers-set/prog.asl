!go.
+!go <- .set.create(S); .set.add(S,c); .set.add(S,a); .set.add(S,c); .print(S); .set.add_all(S,[z,1,"s",f(2)]); .print(S); .set.remove(S,z); .set.remove(S,notthere); .length(S,N); .print(N); .set.to_list(S,L); .print(L); if (.member(a,S)) { .print(has_a) }; .findall(X,.member(X,S),M); .print(M);
  .set.create(T); .set.add_all(T,[a,b,c]); .set.copy(T,U); .set.union(T,[d]); .print(T); .set.intersection(T,[a,d,e]); .print(T); .set.difference(U,[a]); .print(U); .set.clear(U); .print(U); .set.create(E); if (U = E) { .print(equal) }; .stopMAS.
