!go.
+!go <- .reverse("abc",A); .print(A); .reverse("",B); .print("'",B,"'"); .delete("b","abcb",C); .print(C); .delete(0,"abc",D); .print(D); .delete(1,3,"abcde",E); .print(E); .delete("[aeiou]","education",F); .print(F); .nth(1,"xyz",G); .print(G); .nth(I,"xyz","z"); .print(I); .stopMAS.
