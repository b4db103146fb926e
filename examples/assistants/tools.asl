// Calls of tools, with a journal: each call has a key, which is on the disk before the call leaves.

calls(0).

+!use(Job, Tool, Args, Outcome)[source(self)]
   <- ?calls(N);
      -+calls(N + 1);
      .my_name(Me);
      .concat(Job, "-", Me, "-", N + 1, Key);
      +calling(Key, Tool, Args);
      // The program assistants.py has this agent. whimbrel: allow(unknown-receiver)
      .send(tools, askOne, use(Key, Tool, Args, _), use(Key, _, _, Outcome));
      -calling(Key, Tool, Args);
      +called(Key, Tool, Outcome).
