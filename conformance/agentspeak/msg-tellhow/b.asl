+!test <- !g(4); !h; !i(1); !i(2); .plan_label(P,pl1); .print(P); .stopMAS.
