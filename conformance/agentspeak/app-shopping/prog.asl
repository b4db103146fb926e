price(milk,2). price(bread,3). price(wine,12). budget(10).
!shop([milk,wine,bread]).
+!shop([]) : budget(B) <- .print("left ",B); .findall(X,bought(X),L); .print(L); .stopMAS.
+!shop([I|T]) <- !buy(I); !shop(T).
+!buy(I) : price(I,P) & budget(B) & P <= B <- -+budget(B-P); +bought(I); .print("bought ",I).
+!buy(I) : price(I,P) <- .print("too expensive ",I); .fail(cost(P)).
-!buy(I)[cost(P)] <- .print("skip ",I," at ",P).
