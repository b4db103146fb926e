// Brokering (SC00033H): who may say what next. Made from conformance/protocols/brokering.json: edit that.

conversation::protocol(
   "fipa-brokering",
   [
      move(start, initiator, proxy, asked),
      move(asked, participant, refuse, refused),
      move(asked, participant, agree, agreed),
      move(asked, participant, failure, failed),
      move(agreed, participant, failure, failed),
      move(agreed, participant, inform, forwarded),
      move(forwarded, participant, failure, failed),
      move(forwarded, participant, inform, done)
   ],
   [
      deadline(asked, silent, [])
   ],
   [done, failed, refused]
).
