// Has tea.
stock(tea, 3).
!open.
+!open
   <- !serve(ann);
      .print("served").
// Serves a guest.
+!serve(Who)
   <- ?stock(tea,N);
      .print("serving ", Who);
      !thank(Who).
