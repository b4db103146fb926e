// Prints calls per second and the median time of a call, once all callers are done.
!collect.

+!collect : callers(Callers)
   <- .wait(.count(called(_, _, _), Callers) & .count(times(_), Callers));
      .findall(T, times(Times) & .member(T, Times), All);
      .sort(All, Sorted);
      .length(Sorted, Calls);
      .nth(Calls div 2, Sorted, Median);
      .nth(Calls * 99 div 100, Sorted, P99);
      .findall(S, called(S, _, _), Starts); .min(Starts, First);
      .findall(E, called(_, E, _), Ends); .max(Ends, Last);
      .print("RESULT bench=python-calls callers=", Callers, " calls=", Calls, " calls_per_s=", Calls * 1.0e9 div (Last - First),
         " p50_us=", Median / 1000, " p99_us=", P99 / 1000);
      .stopMAS.
