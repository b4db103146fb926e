!go.
+!go <- .print(1); if (true) { .print(2); }; .print(3);
   for (.member(X,[a,b])) { .print(X); };
   while (false) { .print(x) };
   .print(4);
   .stopMAS;.
