// Builder of a tower of blocks. Its goals are declarative: !on(a, b) names a fact that must become true, a on b, not
// something to do. Such a goal is reached only when the agent believes the fact.

// The blocks that the agent sees:         c
//                                         a   b   e
//                                         d   f   g
on(d, table). on(a, d). on(c, a).
on(f, table). on(b, f).
on(g, table). on(e, g).

clear(table).
clear(X) :- on(X, _) & not on(_, X).

// The tower to build, from the ground up.
wanted([g, f, e, d, c, b, a]).

stands(_, []).
stands(Below, [X|Above]) :- on(X, Below) & stands(X, Above).

// The lowest block that is not in its place, and its place.
misplaced(Below, [X|_], X, Below) :- not on(X, Below).
misplaced(Below, [X|Above], Y, Place) :- on(X, Below) & misplaced(X, Above, Y, Place).

!work.

+!work : wanted(Tower)
   <- !show;
      !tower(Tower);
      !show;
      .print("The tower stands.");
      .stopMAS.

// A declarative goal has two kinds of plans.
// The first: the goal is believed already. There is nothing to do, and this is the only way out.
+!tower(Blocks) : stands(table, Blocks).
// The others act, and post the goal again, because an act does not prove that the goal is reached.
+!tower(Blocks) : misplaced(table, Blocks, X, Place)
   <- !on(X, Place);
      !tower(Blocks).

+!on(X, Y) : on(X, Y).
+!on(X, Y)
   <- !clear(X);
      !clear(Y);
      !move(X, Y);
      !on(X, Y).
// After a failure, the world differs from the plan's assumptions: choose again, from the present beliefs.
-!on(X, Y)
   <- .print("  that went wrong: ", X, " on ", Y, ", once more");
      !on(X, Y).

+!clear(X) : clear(X).
+!clear(X) : on(Y, X)
   <- !on(Y, table);
      !clear(X).

// The hand. It is slow: a move that was possible may be impossible when the hand arrives.
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

// Changes of the blocks by other agents.
@topple[atomic]
+!topple[source(Who)]
   <- .print("  ", Who, " topples everything");
      for (on(X, Y) & Y \== table) {
         -on(X, Y);
         +on(X, table)
      }.

@gift[atomic]
+!gift(Thing)[source(Who)] : wanted(Tower) & misplaced(table, Tower, _, Place) & clear(Place)
   <- .print("  ", Who, " lays a ", Thing, " on ", Place);
      +on(Thing, Place).

+!show
   <- for (on(X, table)) { !pile(X, [X]) }.
+!pile(X, Pile) : on(Y, X)
   <- !pile(Y, [Y|Pile]).
+!pile(_, Pile)
   <- .reverse(Pile, Upwards);
      .print("on the table: ", Upwards).
