!go.
+!go <- .union([c,a],[b,a],U); .intersection([a,b,c],[c,d,a],I); .difference([a,b,c,b],[b],D); .print(U,I,D); .union([],[],E); .print(E); .union([3,1,2],[2,10],N); .print(N); .union([f(2),f(1)],[a,"s",1],M); .print(M); .difference([],[a],Z); .print(Z); .intersection([a],[b],W); .print(W); .stopMAS.
