!s.
+!s <- .df_subscribe("vend"); .wait({+provider(c,"vend")}); .df_search("vend",L); .sort(L,S); .print(S); .findall(A,provider(A,"vend")[source(df)],P); .sort(P,Q); .print(Q); .df_search("none",N); .print(N); .stopMAS.
