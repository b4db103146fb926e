+go <- .wait(20); .send(c,tell,x(1)); .wait(20); .send(c,untell,x(1)); .wait(20); .send(c,tell,fin).
