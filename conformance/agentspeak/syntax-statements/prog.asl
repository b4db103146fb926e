k(1). k(2). k(3).
!go.
+!go <-
  if (k(2)) { .print(yes) }
  if (k(9)) { .print(no) } else { .print(else1) }
  if (k(9)) { .print(no) } elif (k(8)) { .print(no) } elif (k(3)) { .print(elif3) } else { .print(no) }
  for (k(X)) { .print(X) }
  -+n(0);
  while (n(I) & I < 3) { .print("w",I); -+n(I+1) }
  if (not k(7)) { }
  for (k(99)) { .print(never) }
  while (false) { .print(never) }
  .print(end); .stopMAS.
