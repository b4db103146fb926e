// Iterated contract net (SC00030H): who may say what next. Made from conformance/protocols/iterated-contract-net.json: edit that.

conversation::protocol(
   "fipa-iterated-contract-net",
   [
      move(start, initiator, cfp, called),
      move(proposed, initiator, cfp, called),
      move(called, participant, refuse, refused),
      move(called, participant, propose, proposed),
      move(called, participant, failure, failed),
      move(proposed, initiator, reject_proposal, rejected),
      move(proposed, initiator, accept_proposal, accepted),
      move(accepted, participant, failure, failed),
      move(accepted, participant, inform, done)
   ],
   [
      deadline(accepted, silent, []),
      deadline(called, silent, [late(propose, reject_proposal)]),
      deadline(proposed, silent, [])
   ],
   [done, failed, refused, rejected]
).
