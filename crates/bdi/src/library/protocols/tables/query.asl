// Query (SC00027H): who may say what next. Made from conformance/protocols/query.json: edit that.

conversation::protocol(
   "fipa-query",
   [
      move(start, initiator, query_if, asked),
      move(start, initiator, query_ref, asked),
      move(asked, participant, refuse, refused),
      move(asked, participant, agree, agreed),
      move(asked, participant, failure, failed),
      move(agreed, participant, failure, failed),
      move(asked, participant, inform, done),
      move(agreed, participant, inform, done)
   ],
   [
      deadline(asked, silent, [])
   ],
   [done, failed, refused]
).
