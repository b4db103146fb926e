// English auction (XC00031F): who may say what next. Made from conformance/protocols/auction-english.json: edit that.

conversation::protocol(
   "fipa-auction-english",
   [
      move(start, initiator, inform, waiting),
      move(waiting, initiator, cfp, called),
      move(called, initiator, cfp, called),
      move(leading, initiator, cfp, called_leading),
      move(called_leading, initiator, cfp, called_leading),
      move(called, participant, propose, proposed),
      move(called_leading, participant, propose, proposed),
      move(called, participant, refuse, waiting),
      move(called_leading, participant, refuse, leading),
      move(proposed, initiator, accept_proposal, leading),
      move(proposed, initiator, reject_proposal, waiting),
      move(leading, initiator, reject_proposal, waiting),
      move(called_leading, initiator, reject_proposal, waiting),
      move(waiting, initiator, inform, lost),
      move(called, initiator, inform, lost),
      move(leading, initiator, inform, won),
      move(called_leading, initiator, inform, won),
      move(proposed, initiator, cfp, called),
      move(proposed, initiator, inform, lost)
   ],
   [
      deadline(called, waiting, []),
      deadline(called_leading, leading, [])
   ],
   [lost, won]
).
