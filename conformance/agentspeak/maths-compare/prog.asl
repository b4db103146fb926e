!go.
+!go <- if (1 == 1.0) { .print(1) }; if (0.1+0.2 == 0.3) { .print(bad) } else { .print(2) }; if (1 < 1.0000001) { .print(3) }; if (2+2 == 4) { .print(4) }; if (10 > 9 & 10 >= 10 & 9 <= 9) { .print(5) }; if (-1 < 0) { .print(6) }; X = 5; if (X*2 > 9) { .print(7) }; if (3 \== 3.0) { .print(bad) } else { .print(8) };
  if (1e3 == 1000) { .print(9) }; if (7 mod 3 = 1) { .print(10) }; .stopMAS.
