// Request (SC00026H): who may say what next. Made from conformance/protocols/request.json: edit that.

conversation::protocol(
   "fipa-request",
   [
      move(start, initiator, request, requested),
      move(requested, participant, refuse, refused),
      move(requested, participant, agree, agreed),
      move(requested, participant, failure, failed),
      move(agreed, participant, failure, failed),
      move(requested, participant, inform, done),
      move(agreed, participant, inform, done)
   ],
   [
      deadline(requested, silent, [])
   ],
   [done, failed, refused]
).
