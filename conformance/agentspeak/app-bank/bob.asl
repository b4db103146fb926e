+go <- .send(bank,achieve,transfer(alice,bob,1)); .send(bank,achieve,transfer(bob,alice,20)); .wait(50); .send(bank,achieve,report).
