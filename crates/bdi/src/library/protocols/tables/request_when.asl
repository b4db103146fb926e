// Request when (SC00028H): who may say what next. Made from conformance/protocols/request-when.json: edit that.

conversation::protocol(
   "fipa-request-when",
   [
      move(start, initiator, request_when, requested),
      move(requested, participant, refuse, refused),
      move(requested, participant, agree, agreed),
      move(agreed, participant, failure, failed),
      move(agreed, participant, inform, done),
      move(requested, participant, failure, failed),
      move(requested, participant, inform, done)
   ],
   [
      deadline(requested, silent, [])
   ],
   [done, failed, refused]
).
