"""Drives the shop's agent with the official Python SDK and with fastmcp. Prints what it saw, a line each."""

import asyncio
import sys
import warnings

import fastmcp
import mcp_types as types
from mcp.client.client import Client

warnings.simplefilter("ignore")


async def answer(context, params):
    return types.ElicitResult(action="accept", content={"answer": "blue"})


async def official(url, mode):
    progress = []

    async def note(done, total, message):
        progress.append((done, total, message))

    async with Client(url, mode=mode, elicitation_callback=answer) as client:
        tools = sorted(tool.name for tool in (await client.list_tools()).tools)
        print(mode, "tools", *tools)
        price = await client.call_tool("shop.price", {"item": "tea", "count": 2})
        print(mode, "price", price.structured_content, price.is_error)
        wrong = await client.call_tool("shop.price", {"item": "gold"})
        print(mode, "wrong", wrong.content[0].text, wrong.is_error)
        cup = await client.call_tool("shop.order", {"item": "tea"})
        print(mode, "order", cup.content[0].text)
        tea = await client.call_tool("shop.brew", {}, progress_callback=note)
        print(mode, "brew", tea.content[0].text, progress)
        menu = await client.read_resource("shop://menu")
        print(mode, "menu", menu.contents[0].text)
        prompt = await client.get_prompt("shop.advertise", {"item": "tea"})
        print(mode, "prompt", [message.role for message in prompt.messages], prompt.messages[0].content.text)
        found = await client.call_tool("df_search", {"service": "price"})
        print(mode, "found", found.structured_content["agents"][0]["agent"])
        content = {"term": "price", "args": ["tea", 4]}
        sent = await client.call_tool("send", {"agent": "shop", "content": content})
        print(mode, "sent", sent.content[0].text)


async def fast(url):
    async def fill_in(message, response_type, params, context):
        return {"answer": "green"}

    async with fastmcp.Client(url, elicitation_handler=fill_in) as client:
        price = await client.call_tool("shop.price", {"item": "tea"})
        print("fastmcp price", price.structured_content)
        print("fastmcp resources", [str(resource.uri) for resource in await client.list_resources()])


async def main(url):
    for mode in ("auto", "legacy"):
        await official(url, mode)
    await fast(url)


asyncio.run(main(sys.argv[1]))
