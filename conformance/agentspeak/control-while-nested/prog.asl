!go.
+!go <- -+i(0); while (i(I) & I < 3) { -+j(0); while (j(J) & J < 2) { .print(I,J); -+j(J+1) }; -+i(I+1) }; ?i(X); .print(X); .stopMAS.
