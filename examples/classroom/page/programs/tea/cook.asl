// Three ways to have something to drink. The first plan whose context holds is
// tried; when it fails, there is a plan for that, too.
water(cold).
tins([coffee, tea]).

!drink.

+!drink : tins([What|Rest])
   <- -+tins(Rest);
      .print("there may be ", What);
      !boil;
      !brew(What);
      .print("a cup of ", What).
+!drink
   <- .print("water, then").

-!drink[error_msg(Why)]
   <- .print("no: ", Why);
      !drink.

+!boil : water(hot).
+!boil
   <- .print("boiling water");
      .wait(700);
      -+water(hot).

+!brew(tea).
+!brew(What)
   <- .wait(300);
      .fail(empty, error_msg("the tin of coffee is empty")).
