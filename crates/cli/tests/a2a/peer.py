"""Client of A2A's Python SDK: drives a published AgentSpeak agent. Prints one line for each check."""

import asyncio
import sys

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import (
    CancelTaskRequest, GetTaskRequest, Message, Part, Role, SendMessageRequest, SubscribeToTaskRequest, TaskState,
)

BASE = sys.argv[1]
TRANSPORT = sys.argv[2]  # JSONRPC or HTTP+JSON


def message(text, **more):
    identifier = f"m{message.count}"
    message.count += 1
    return SendMessageRequest(
        message=Message(message_id=identifier, role=Role.ROLE_USER, parts=[Part(text=text)], **more)
    )


message.count = 1


def state(task):
    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_").lower()


def texts(parts):
    return " ".join(part.text for part in parts)


async def last_task(client, request):
    task = None
    async for event in client.send_message(request):
        if event.HasField("task"):
            task = event.task
    return task


async def names(events, until=None):
    seen, task = [], None
    async for event in events:
        kind = event.WhichOneof("payload")
        if kind == "task":
            task = event.task
            seen.append(f"task {state(task)}")
        elif kind == "status_update":
            seen.append(state(event.status_update))
        elif kind == "artifact_update":
            seen.append(f"artifact {texts(event.artifact_update.artifact.parts)}")
        else:
            seen.append(f"message {texts(event.message.parts)}")
        if until and seen[-1] == until:
            break
    return seen, task


async def main():
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, BASE).get_agent_card()
        print("card:", card.name, *(skill.id for skill in card.skills))

        def client(streams):
            config = ClientConfig(httpx_client=http, streaming=streams, supported_protocol_bindings=[TRANSPORT])
            return ClientFactory(config).create(card)

        plain, streaming = client(False), client(True)
        task = await last_task(plain, message("price of tea"))
        print("send:", state(task), texts(task.artifacts[0].parts))

        seen, _ = await names(streaming.send_message(message("brew")))
        print("stream:", *seen, sep=", ")

        asked = await last_task(plain, message("paint"))
        print("asked:", state(asked), texts(asked.status.message.parts))
        done = await last_task(plain, message("red", task_id=asked.id, context_id=asked.context_id))
        print("answered:", state(done), texts(done.artifacts[0].parts), "same task" if done.id == asked.id else "another")

        # The stream is cut after the first update; a subscription continues.
        seen, task = await names(streaming.send_message(message("long")), until="working")
        again, _ = await names(streaming.subscribe(SubscribeToTaskRequest(id=task.id)))
        print("resubscribed:", *again, sep=", ")
        kept = await plain.get_task(GetTaskRequest(id=task.id))
        print("got:", state(kept))

        asked = await last_task(plain, message("paint"))
        cancelled = await plain.cancel_task(CancelTaskRequest(id=asked.id))
        print("cancelled:", state(cancelled))

        refused = await last_task(plain, message("sing"))
        print("refused:", state(refused), texts(refused.status.message.parts))


asyncio.run(main())
