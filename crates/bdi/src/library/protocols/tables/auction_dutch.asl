// Dutch auction (XC00032F): who may say what next. Made from conformance/protocols/auction-dutch.json: edit that.

conversation::protocol(
   "fipa-auction-dutch",
   [
      move(start, initiator, inform, waiting),
      move(waiting, initiator, cfp, called),
      move(called, initiator, cfp, called),
      move(called, participant, propose, proposed),
      move(called, participant, refuse, waiting),
      move(proposed, initiator, accept_proposal, won),
      move(proposed, initiator, reject_proposal, waiting),
      move(waiting, initiator, inform, lost),
      move(called, initiator, inform, lost),
      move(proposed, initiator, cfp, called),
      move(proposed, initiator, inform, lost)
   ],
   [
      deadline(called, waiting, [])
   ],
   [lost, won]
).
