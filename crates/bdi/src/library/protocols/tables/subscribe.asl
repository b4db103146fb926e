// Subscribe (SC00035H): who may say what next. Made from conformance/protocols/subscribe.json: edit that.

conversation::protocol(
   "fipa-subscribe",
   [
      move(start, initiator, subscribe, subscribed),
      move(subscribed, participant, refuse, refused),
      move(subscribed, participant, agree, active),
      move(subscribed, participant, inform, active),
      move(active, participant, inform, active),
      move(subscribed, participant, failure, failed),
      move(active, participant, failure, failed)
   ],
   [
      deadline(subscribed, silent, [])
   ],
   [failed, refused]
).
