// Buyer: the plan of a purchase. It has no model: no text that anybody writes can change what it does.
// Others may tell it anything. Rules and plans that spend money count only what it believes itself: `[source(self)]`.

{ include("tools.asl") }

limit(500).      // pounds: a dearer order needs a person's approval
approver(desk).  // the program at which a person sits
approver(cli).   // the command `whimbrel tell`
drafts_max(3).

// whimbrel: allow(plan-never-triggered)
+!buy(Job, Need)[source(desk)]
   <- .print("purchase ", Job, ": ", Need);
      .send(researcher, achieve, find(Job, Need));
      .wait(found(Job, Report)[source(researcher)]);
      .send(writer, achieve, write(Job, 1, Need, Report));
      !agree(Job, 1, Report, Order);
      !approve(Job, Order);
      !order(Job, Order).
// whimbrel: allow(plan-never-triggered)
-!buy(Job, _)[error(E), error_msg(Why)] <- !finish(Job, not_bought, Why).

+!agree(Job, Draft, Report, Order) : drafts_max(Max)[source(self)] & Draft <= Max
   <- .wait(proposed(Job, Draft, Proposal, Text)[source(writer)]);
      .send(reviewer, achieve, review(Job, Draft, Proposal, Text, Report));
      .wait(judged(Job, Draft, Verdict, Reason)[source(reviewer)]);
      !consider(Job, Draft, Report, Verdict, Reason, Proposal, Order).
+!agree(_, _, _, _) <- .fail_with(no_agreement, "the reviewer accepts no draft").

+!consider(_, _, _, "good", _, Proposal, Order) <- Order = Proposal.
+!consider(Job, Draft, Report, _, Reason, _, Order)
   <- .send(writer, achieve, revise(Job, Draft + 1, Reason));
      !agree(Job, Draft + 1, Report, Order).

decided(Job, yes, Who) :- approved(Job)[source(Who)] & approver(Who)[source(self)].
decided(Job, no, Who) :- refused(Job)[source(Who)] & approver(Who)[source(self)].

+!approve(_, order(_, _, Total)) : limit(Limit)[source(self)] & Total <= Limit.
+!approve(Job, order(Sku, Quantity, Total))
   <- .print("needs approval of ", Quantity, " of ", Sku, " for ", Total, " pounds");
      .send(desk, tell, needs_approval(Job, Sku, Quantity, Total));  // whimbrel: allow(unknown-receiver)
      .wait(decided(Job, Answer, Who));
      .print(Who, " approves: ", Answer);
      !heed(Answer).
+!heed(yes).
+!heed(no) <- .fail_with(not_approved, "the order was not approved").

// What is ordered is what was approved. The shop refuses a higher total. Nobody else can set this goal.
+!order(Job, order(Sku, Quantity, Total))[source(self)]
   <- !use(Job, place_order, [sku(Sku), quantity(Quantity), max_total(Total)], Outcome);
      !ordered(Job, Outcome).

+!ordered(Job, ok(Number))
   <- .print("ordered: ", Number);
      .concat("Ordered: ", Number, Text);
      !use(Job, announce, [text(Text)], Told);
      .print("told the team: ", Told);
      !finish(Job, bought, Number).
+!ordered(_, refused(Why)) <- .fail_with(refused, Why).
+!ordered(_, unknown(Why)) <- .concat("ask the shop before you order again: ", Why, Text); .fail_with(unknown, Text).

+!finish(Job, Result, Text)
   <- .print(Result, ": ", Text);
      .send(desk, tell, finished(Job, Result, Text)).  // whimbrel: allow(unknown-receiver)

// An assistant cannot continue. The purchase waits with it.
+stopped(Job, Why)[source(Who)]
   <- -stopped(Job, Why)[source(Who)];
      .send(desk, tell, stopped(Job, Who, Why)).  // whimbrel: allow(unknown-receiver)
