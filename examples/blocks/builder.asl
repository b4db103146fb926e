// Builds a tower of blocks. Its goals say what is to be true, not what to do: !on(a, b) means "see to it that a is on
// b". Such a goal is reached when it is believed, and for no other reason.

// The blocks, as the agent sees them:     c
//                                         a   b   e
//                                         d   f   g
on(d, table).  on(a, d).  on(c, a).
on(f, table).  on(b, f).
on(g, table).  on(e, g).

clear(table).
clear(X) :- on(X, _) & not on(_, X).

// The tower to build, from the ground up.
wanted([g, f, e, d, c, b, a]).

stands(_, []).
stands(Below, [X|Above]) :- on(X, Below) & stands(X, Above).

// The lowest block that is not where it belongs, and where it belongs.
misplaced(Below, [X|_], X, Below)     :- not on(X, Below).
misplaced(Below, [X|Above], Y, Place) :- on(X, Below) & misplaced(X, Above, Y, Place).

!work.

+!work : wanted(Tower)
   <- !show;
      !tower(Tower);
      !show;
      .print("The tower stands.");
      .stopMAS.

// A declarative goal has two kinds of plans.
// The first: the goal is believed already. Nothing to do, and the only way out.
+!tower(Blocks) : stands(table, Blocks).
// The others do something about it, and post the goal again, because what was done is no proof that it is reached.
+!tower(Blocks) : misplaced(table, Blocks, X, Place)
   <- !on(X, Place);
      !tower(Blocks).

+!on(X, Y) : on(X, Y).
+!on(X, Y)
   <- !clear(X);
      !clear(Y);
      !move(X, Y);
      !on(X, Y).
// If something went wrong, the world is not as the plan took it to be: choose again, from what is believed now.
-!on(X, Y)
   <- .print("  that went wrong: ", X, " on ", Y, ", once more");
      !on(X, Y).

+!clear(X) : clear(X).
+!clear(X) : on(Y, X)
   <- !on(Y, table);
      !clear(X).

// The hand. It is slow, and what it holds for possible may have become impossible when it gets there.
+!move(X, Y)
   <- .wait(80);
      !put(X, Y).

@put[atomic]
+!put(X, Y) : clear(X) & clear(Y) & on(X, Z) & moves(N)
   <- -on(X, Z);
      +on(X, Y);
      -+moves(N + 1);
      .print("  move ", N + 1, ": ", X, " from ", Z, " to ", Y);
      .send(kitten, tell, moved(N + 1)).

moves(0).

// Changes that others make to the blocks.
@topple[atomic]
+!topple[source(Who)]
   <- .print("  ", Who, " topples everything");
      for ( on(X, Y) & Y \== table ) {
         -on(X, Y);
         +on(X, table)
      }.

@gift[atomic]
+!gift(Thing)[source(Who)] : wanted(Tower) & misplaced(table, Tower, _, Place) & clear(Place)
   <- .print("  ", Who, " lays a ", Thing, " on ", Place);
      +on(Thing, Place).

+!show
   <- for ( on(X, table) ) { !pile(X, [X]) }.
+!pile(X, Pile) : on(Y, X)
   <- !pile(Y, [Y|Pile]).
+!pile(_, Pile)
   <- .reverse(Pile, Upwards);
      .print("on the table: ", Upwards).
