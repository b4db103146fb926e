// Agent under test for A2A's technology compatibility kit (a2a-tck): the identifier of a message tells what to do with
// it, as the kit's scenarios say. The client's identifier is the message's reply-with, here Id.

begins(Id, Prefix) :- .substring(Prefix, Id, 0).

+!kqml_received(Client, cancel, _, Id)[conversation(C)]
   <- .send(Client, inform, "cancelled", [conversation(C), in_reply_to(Id)]).

+!kqml_received(Client, _, _, Id) : begins(Id, "tck-complete-task")
   <- .send(Client, inform, "Hello from TCK", Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-artifact-text")
   <- .send(Client, inform, "Generated text content", Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-artifact-file-url")
   <- .send(Client, inform, link("https://example.com/output.txt", "output.txt", "text/plain"), Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-artifact-file")
   <- .send(Client, inform, file("output.txt", "text/plain", "tck"), Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-artifact-data")
   <- .map.put(Data, "key", "value");
      .map.put(Data, "count", 42);
      .map.freeze(Data, Frozen);
      .send(Client, inform, Frozen, Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-message-response")
   <- .send(Client, inform, "Direct message response", [in_reply_to(Id), user("X-a2a-message", true)]).
+!kqml_received(Client, _, _, Id)[conversation(C)] : begins(Id, "tck-input-required")
   <- .concat(Id, "-question", Question);
      .send(Client, query_ref, "which one?", [conversation(C), in_reply_to(Id), reply_with(Question)]).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-reject-task")
   <- .send(Client, refuse, "rejected", Id).

+!kqml_received(Client, _, _, Id) : begins(Id, "tck-stream-002")
   <- .send(Client, inform, "Only a message", [in_reply_to(Id), user("X-a2a-message", true)]).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-stream-001")
   <- .send(Client, agree, "working", Id);
      .send(Client, inform, "Stream hello from TCK", Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-stream-003")
   <- .send(Client, agree, "working", Id);
      .send(Client, inform, "Stream task lifecycle", Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-stream-ordering-001")
   <- .send(Client, agree, "working", Id);
      .send(Client, inform, "Ordered output", Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-stream-artifact-text")
   <- .send(Client, agree, "working", Id);
      .send(Client, inform, "Streamed text content", Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-stream-artifact-file")
   <- .send(Client, agree, "working", Id);
      .send(Client, inform, file("output.txt", "text/plain", "tck"), Id).
+!kqml_received(Client, _, _, Id) : begins(Id, "tck-stream-artifact-chunked")
   <- .send(Client, agree, "working", Id);
      .send(Client, inform, "chunk-1 ", [in_reply_to(Id), user("X-a2a-artifact", "text"), user("X-a2a-last", false)]);
      .send(Client, inform, "chunk-2", [in_reply_to(Id), user("X-a2a-artifact", "text"), user("X-a2a-append", true)]).
+!kqml_received(Client, _, _, Id) : begins(Id, "test-resubscribe-message-id")
   <- .send(Client, agree, "working", Id);
      .wait(4000);
      .send(Client, inform, "done", Id).
// The kit for version 0.3 continues and cancels any task.
+!kqml_received(Client, Performative, _, Id)[conversation(C)]
   : not begins(Id, "tck-") & (Performative == request | Performative == inform)
   <- .concat(Id, "-question", Question);
      .send(Client, query_ref, "what else?", [conversation(C), in_reply_to(Id), reply_with(Question)]).
+!kqml_received(Client, Performative, _, Id) : Performative == request | Performative == inform
   <- .send(Client, inform, "Unhandled identifier", Id).
