!go.
+!go <- .map.create(M); .map.put(M,b,2); .map.put(M,a,f(1)); .map.put(M,"k",[1,2]); .map.put(M,3,x); .print(M); .map.get(M,a,V); .print(V); .map.get(M,zz,D,none); .print(D); if (.map.get(M,zz,_)) { .print(bad) } else { .print(missing) }; .map.put(M,b,20); .map.get(M,b,B); .print(B);
  .findall(K,.map.key(M,K),Ks); .print(Ks); .findall(X,.map.value(M,X),Vs); .print(Vs); .map.remove(M,b,R); .print(R); .length(M,N); .print(N); .map.copy(M,C); .map.clear(M); .print(M," ",C); if (.empty(M)) { .print(empty) }; .stopMAS.
