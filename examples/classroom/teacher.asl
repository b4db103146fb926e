// Teacher: answers greetings and some questions (askOne).
capital(france, paris).
capital(japan, tokyo).
capital(kenya, nairobi).

+hello[source(Who)]
   <- .print(Who, " says hello");
      .send(Who, tell, welcome).
