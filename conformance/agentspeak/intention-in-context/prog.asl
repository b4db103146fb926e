// The current intention is known while a plan for its event is chosen, and labels tell where their plans begin.

!start.

+!start
   <- .print(begin);
      !inner(1);
      !inner(2);
      !!alone.

+!inner(N)
   :  .intention(Id, State, [im(_, {+!Goal[_|_]}, { Step; _ }, _)|_], current)
   <- .print("in ", Id, " ", State, ": ", Goal, " does ", Step).

@last
+!alone
   <- .print(ends);
      .intention(_, State, [im(Label[code_line(Line)], _, _, _)|_], current);
      .print(State, " in ", Label, " at line ", Line);
      .stopMAS.
