tree(node(node(leaf,1,leaf),2,node(leaf,3,node(leaf,4,leaf)))).
sum(leaf,0).
sum(node(L,V,R),S) :- sum(L,A) & sum(R,B) & S = A+B+V.
depth(leaf,0).
depth(node(L,_,R),D) :- depth(L,A) & depth(R,B) & D = math.max(A,B)+1.
inorder(leaf,[]).
inorder(node(L,V,R),O) :- inorder(L,A) & inorder(R,B) & .concat(A,[V|B],O).
!go.
+!go <- ?tree(T); ?sum(T,S); ?depth(T,D); ?inorder(T,O); .print(S," ",D," ",O); .print(T); .stopMAS.
