// Greets whoever says hello, and introduces newcomers to those who are here.

+hello(Language)[source(Who)]
   <- .print(Who, " speaks ", Language);
      .send(Who, tell, hello("AgentSpeak"));
      for (hello(_)[source(Other)] & Other \== Who) {
         .send(Who, tell, meet(Other))
      }.
