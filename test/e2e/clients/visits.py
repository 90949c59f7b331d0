"""Visits malicious servers with the Python client: maliciousVisits.ts. Arguments: the codec, and the URLs."""

import asyncio
import itertools
import json
import sys

import turngraph
from turngraph import Client, TurngraphError

LIMIT = 6.0
OPTIONS = {
    "timeout": LIMIT,
    "connect_timeout": LIMIT,
    "idle_timeout": LIMIT,
    "reconnect_timeout": LIMIT,
    "max_answer_bytes": 2**20,
}


async def visit(url: str, way: int) -> None:
    step = "connect"
    message = ""
    try:
        client = await Client.open(url, form=sys.argv[1], **OPTIONS)
        try:
            step = "agent"
            agent = await client.create_agent(graph_name="chat")
            step = "turn"
            await agent.send("hello")
            step = "models"
            await client.list_models()
            step = "export"
            await agent.export_dialog()
            step = "search"
            await client.search_storage("lore", "fox")
            step = "load"
            await client.load_model("m")
            step = "cancel"
            await agent.cancel()
            step = "destroy"
            await agent.destroy()
        finally:
            await client.close()
        step = "done"
    except TurngraphError as error:
        message = str(error)
    except Exception as error:
        message = f"UNEXPECTED {error!r}"
    print("VISIT", json.dumps({"way": way, "step": step, "message": message}), flush=True)


async def main() -> None:
    turngraph.reconnect_delays = lambda first: itertools.repeat(0.02)
    await asyncio.gather(*(visit(url, way) for way, url in enumerate(sys.argv[2:])))


asyncio.run(main())
