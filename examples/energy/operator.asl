// Grid operator: keeps the street's transformer within its limits, and pays as little as possible for that.

limit(import, 10000).  // Wh in a quarter of an hour: 40 kW
limit(export, 6000).  // 24 kW

measures(relieved, 0).
measures(curtailed, 0).
measures(shed, 0).
paid(0).

// Net is the wished import in Wh, negative for an export. Offers are what households would defer, and for how much.
// whimbrel: allow(plan-never-triggered)
+?allow(_, Net, Offers, Order) <- !decide(Net, Offers, Order).

+!decide(Net, Offers, relief(Accepted, Missing)) : limit(import, Max) & Net > Max
   <- .sort(Offers, Cheapest);
      !accept(Net - Max, Cheapest, Accepted, Missing);
      !count(relieved);
      !note(Missing).
+!decide(Net, _, curtail(Max)) : limit(export, Max) & -Net > Max <- !count(curtailed).
+!decide(_, _, none).

// The cheapest offers first, the last one in part.
+!accept(Excess, [], [], Excess).
+!accept(Excess, _, [], 0) : Excess <= 0.
+!accept(Excess, [offer(Price, House, Wh)|Offers], [defer(House, Part, Price)|Accepted], Missing)
   <- Part = math.min(Excess, Wh);
      ?paid(Sum);
      -+paid(Sum + Part * Price);
      !accept(Excess - Part, Offers, Accepted, Missing).

// Nobody else defers: the rest is shed, and that should not happen.
+!note(0).
+!note(Missing) <- .print("sheds ", Missing, " Wh"); !count(shed).

+!count(Kind) <- ?measures(Kind, N); -measures(Kind, N); +measures(Kind, N + 1).

// whimbrel: allow(plan-never-triggered)
+!report[source(S)] : measures(relieved, R) & measures(curtailed, C) & measures(shed, Shed) & paid(Sum)
   <- .print("relieved ", R, " quarter hours, curtailed ", C, ", shed in ", Shed);
      .send(S, tell, report(R, C, Shed, Sum)).
