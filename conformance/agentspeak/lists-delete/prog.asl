!go.
+!go <- .delete(b,[a,b,c,b],L); .print(L); .delete(0,[a,b],M); .print(M); .delete(1,3,[a,b,c,d,e],N); .print(N); .delete(z,[a,b],O); .print(O); .delete([1],[[1],2,[1]],P); .print(P); .delete(9,[a],Q); .print(Q); .delete("a",["a","b"],R); .string(R); .print(str); .stopMAS.
