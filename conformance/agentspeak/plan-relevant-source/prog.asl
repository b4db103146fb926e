// Plans for goals of certain sources are relevant for a goal whose source is not said.

!start.

+!start
   <- .relevant_plans({ +!go(_, _) }, Plans, Labels);
      .length(Plans, Count);
      .print(Count, " ", .length(Labels));
      .relevant_plans({ +!go(_, _)[source(bob)] }, Some);
      .length(Some, Few);
      .print(Few);
      .relevant_plans({ +!go(_) }, None);
      .print(.length(None));
      .stopMAS.

+!go(X, Y)[source(self)] <- .print(self, X, Y).
+!go(X, Y)[source(A)] : A \== self <- .print(A, X, Y).
+!go(X, Y) <- .print(any, X, Y).
