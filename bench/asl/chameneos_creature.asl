// Creature c<I> starts with the colour I mod 3.
count(0).

complement(X, X, X).
complement(blue, red, yellow).
complement(red, blue, yellow).
complement(blue, yellow, red).
complement(yellow, blue, red).
complement(red, yellow, blue).
complement(yellow, red, blue).

first_colour(0, blue).
first_colour(1, red).
first_colour(2, yellow).

!join.

+!join
  <- .my_name(Me);
     .delete("c", Me, Digits);
     .term2string(I, Digits);
     ?first_colour(I mod 3, Colour);
     +colour(Colour);
     .send(broker, achieve, ready).

+!go : colour(Colour)
  <- .send(broker, achieve, meet(Colour)).

+!met(Other) : colour(Mine) & complement(Mine, Other, New) & count(N)
  <- -+colour(New);
     -+count(N+1);
     .send(broker, achieve, meet(New)).

+!stop : count(N)
  <- .send(broker, achieve, count(N)).
