// Cleaner: moves from room to room. Its percepts of the house are beliefs with
// the source percept: they come and go by themselves.
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

// It has no percepts yet.
+!clean
   <- .wait(at(_));
      !clean.
