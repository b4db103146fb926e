// Robot: fetches drinks, orders missing ones, and limits the owner's drinks.

limit(lemonade, 4).  // glasses a day
served(lemonade, 0).

enough(Drink) :- limit(Drink, Max) & served(Drink, N) & N >= Max.

+!has(owner, Drink)[source(owner)] : enough(Drink) & limit(Drink, Max)
   <- .concat("No more than ", Max, " glasses of ", Drink, " a day. It is for your own good!", Text);
      .send(owner, tell, message(Text)).

// A drink is counted before it is poured: the owner may have drunk it, and asked for more, before the robot learns
// that the glass is full.
+!has(owner, Drink)[source(owner)] : served(Drink, N)
   <- !fetch(Drink);
      !at(owner);
      -+served(Drink, N + 1);
      pour(Drink);
      .print("glass ", N + 1, " is served").

+!fetch(Drink)
   <- !at(fridge);
      open(fridge);
      take(Drink);
      close(fridge).

// The action take failed. The fridge is open, so the robot sees the reason.
-!fetch(Drink)[error(action_failed)] : stock(Drink, 0)
   <- .print("there is no ", Drink, " left, I order some");
      close(fridge);
      .send(supermarket, achieve, order(Drink, 3));
      .wait(delivered(Drink), 30000);
      -delivered(Drink)[source(supermarket)];
      !fetch(Drink).

+!at(Place) : at(Place).
+!at(Place)
   <- go(Place);
      !at(Place).
