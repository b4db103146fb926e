// Goes from room to room. What it sees of the house are beliefs whose source is
// percept: they come and go by themselves.
next(hall, kitchen).
next(kitchen, bedroom).

!clean.

+!clean : dirty(Room)
   <- .print("the ", Room, " is dirty");
      suck;
      !clean.
+!clean : at(Room) & next(Room, To)
   <- .print("the ", Room, " is clean");
      go(To);
      !clean.
+!clean : at(Room)
   <- .print("the ", Room, " is clean, and so is the rest").

// It saw nothing yet.
+!clean
   <- .wait(at(_));
      !clean.
