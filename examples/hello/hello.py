"""Agent `pia` in Python: says hello to ada, and to whom ada names. Usage: hello.py [tcp://HOST:PORT]"""
import os
import sys

from whimbrel import Atom, Term, connect, run


async def main(address="tcp://127.0.0.1:7002"):
    async with connect(address, token=os.environ.get("TOKEN", "open-sesame")) as platform:
        pia = await platform.start("pia")
        greeted, heard = set(), 0

        def say_hello(who):
            greeted.add(who)
            pia.send(who, Term("hello", "Python"))

        say_hello("ada")
        while heard < 2:
            message = await pia.receive()
            match message.content:
                case Term("meet", (Atom(who),)):
                    say_hello(who)
                case Term("hello", (language,)):
                    heard += 1
                    print(f"[pia] {message.sender} speaks {language}", flush=True)
                    if str(message.sender) not in greeted:
                        say_hello(str(message.sender))


run(main(*sys.argv[1:]))
