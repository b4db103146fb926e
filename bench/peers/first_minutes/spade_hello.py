"""Two agents of SPADE: alice greets, bob prints and thanks. Needs `spade run` beside it."""

import asyncio

import spade
from spade.agent import Agent
from spade.behaviour import CyclicBehaviour, OneShotBehaviour
from spade.message import Message


class Bob(Agent):
    class Answer(CyclicBehaviour):
        async def run(self):
            message = await self.receive(timeout=10)
            if message:
                print(f"[bob] {message.body} from {message.sender.username}", flush=True)
                answer = message.make_reply()
                answer.body = "thanks"
                await self.send(answer)

    async def setup(self):
        self.add_behaviour(self.Answer())


class Alice(Agent):
    class Greet(OneShotBehaviour):
        async def run(self):
            message = Message(to="bob@localhost")
            message.body = "hello"
            await self.send(message)
            answer = await self.receive(timeout=10)
            print(f"[alice] {answer.sender.username if answer else 'nobody'} thanks", flush=True)

    async def setup(self):
        self.greet = self.Greet()
        self.add_behaviour(self.greet)


async def main():
    bob, alice = Bob("bob@localhost", "secret"), Alice("alice@localhost", "secret")
    await bob.start(auto_register=True)
    await asyncio.sleep(1)
    await alice.start(auto_register=True)
    await alice.greet.join()
    await alice.stop()
    await bob.stop()


spade.run(main())
