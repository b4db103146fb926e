// Propose (SC00036H): who may say what next. Made from conformance/protocols/propose.json: edit that.

conversation::protocol(
   "fipa-propose",
   [
      move(start, initiator, propose, proposed),
      move(proposed, participant, reject_proposal, rejected),
      move(proposed, participant, accept_proposal, accepted)
   ],
   [
      deadline(proposed, silent, [])
   ],
   [accepted, rejected]
).
