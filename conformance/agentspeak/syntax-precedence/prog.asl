a. b. d.
!go.
+!go <- if (a & c | b) { .print(1) }; if (a & (c | b)) { .print(2) }; if (c & c | a) { .print(3) }; if (not c & a) { .print(4) }; if (not (c & a)) { .print(5) };
  if (not a | b) { .print(6) }; if (c | c & a) { .print(7) } else { .print(8) };
  .print(1+2*3," ",(1+2)*3," ",2*3+1," ",2**3**2," ",-2**2," ",2*-3," ",10-4-3," ",100/10/5," ",7 mod 4 * 2," ",7 div 2 + 1);
  .print({ +!g : a & b | c & not d <- x }); .print({ +!g : a & (b | c) <- x }); .print({ +!g : not a & b <- x }); .print({ +!g : X+1*2 > 3 & Y == Z-1 <- x }); .stopMAS.
