+!kqml_received(S,askOne,delayed(_),Id) <- .print("later"); .wait(30); .send(S,tell,delayed(done),Id).
