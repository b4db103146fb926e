!s.
+!s <- for (.member(T,[20,25,31,29,35,22])) { .send(monitor,tell,temp(T)); .wait(15) }; .send(monitor,achieve,report).
