"""What the Python client does on a server of the tests, told as one JSON object: story.py URL LOCKED_URL HUB_URL FORM GOLDEN."""

import asyncio
import json
import sys
from dataclasses import asdict

from turngraph import (
    ConnectionDropped,
    ConnectionFailed,
    NodeEvent,
    Text,
    TurnFailed,
    TurngraphError,
    connect,
)

CHAT = {"start_node": "answer", "nodes": {"answer": {"type": "Generate"}}}
GUARD = {
    "start_node": "guard",
    "nodes": {
        "guard": {
            "type": "Guardrail",
            "params": {"string_storage": "attacks"},
            "exits": {"triggered": "refuse", "not_triggered": "answer"},
        },
        "refuse": {"type": "CannedResponse", "params": {"inline_strings": ["No."]}},
        "answer": {"type": "Generate"},
    },
}
LOOP = {
    "start_node": "tick",
    "nodes": {"tick": {"type": "CannedResponse", "params": {"inline_strings": ["tick "]}, "exits": {"default": "tick"}}},
}


def told(error):
    return {"kind": type(error).__name__, "code": error.code, "name": error.name, "message": error.message}


def ask_the_test(to):
    """What the test holds back goes on when it reads this."""
    print(to, file=sys.stderr, flush=True)


async def failure(awaitable):
    try:
        await awaitable
    except TurngraphError as error:
        return {**told(error), "faults": [fault["pointer"] for fault in error.faults]}
    return None


async def streams(client):
    agent = await client.create_agent(graph=CHAT)
    turn = agent.send("hello")
    pieces = [(event.text, event.is_delta) async for event in turn if isinstance(event, Text)]
    result = await turn
    return {"pieces": pieces, "result": asdict(result)}


async def calls(client):
    agent = await client.create_agent(graph_name="lamp-switch")
    return [asdict(event) async for event in agent.send("porch light")]


async def cancels(client):
    async with await client.create_agent(graph=CHAT) as agent:
        turn = agent.send("slowly")
        async for _ in turn:
            await turn.cancel()
        result = await turn
        after = await agent.send("hello")
        return {"status": result.status, "text": result.text, "after": after.text}


async def gives_up(client):
    agent = await client.create_agent(graph=CHAT)
    first = await failure(agent.send("never", timeout=0.2)._finish())
    second = await agent.send("hello")
    return {"first": first, "second": second.text}


async def changes(client):
    agent = await client.create_agent(graph=CHAT)
    await agent.change_params("answer", {"stream": False, "sampling": {"stop": ["llo"]}})
    pieces = [event.text async for event in agent.send("hello")]
    refused = await failure(agent.change_params("answer", {"model_name": "x"}))
    return {"pieces": pieces, "refused": refused}


async def saves(client):
    long = [{"user": "é🦊" * 20_000, "assistant": '"' * 20_000}, {"user": "cut", "assistant": "of", "mark": "cancelled"}]
    agent = await client.create_agent(graph=CHAT, history=long)
    await agent.send("hello", variables={"place": "tavern"})
    saved = await agent.export_dialog()
    await agent.destroy()
    other = await client.create_agent(graph=CHAT, history=saved)
    same = await other.export_dialog() == saved and saved[:2] == long
    await other.send("again")
    turns = len(await other.export_dialog())
    await other.clear_dialog()
    return {"same": same, "turns": turns, "last": saved[2], "cleared": await other.export_dialog()}


async def guards(client):
    entries = await client.create_string_storage("attacks", ["swordfish", "attack"])
    agent = await client.create_agent(graph=GUARD, enable_diagnostics=True)
    events = [asdict(event) async for event in agent.send("An ATTACK!") if isinstance(event, NodeEvent)]
    result = await agent.send("hello")
    await client.destroy_string_storage("attacks")
    keys = await client.create_string_storage("greetings", {"de": "Hallo", "en": "Hello"})
    return {"entries": entries, "events": events, "debug": result.debug_info is not None, "keys": keys}


async def is_refused(client):
    agent = await client.create_agent(graph=CHAT)
    first, second = agent.send("slowly"), agent.send("and now?")
    busy = await failure(second._finish())
    ask_the_test("let the answer go on")
    went_on = (await first).text
    graph = {"start_node": "anwser", "nodes": {"answer": {"type": "Generate", "exits": {"default": "b"}}}}
    loop = await client.create_agent(graph=LOOP, max_steps_per_turn=3)
    try:
        await loop.send("go")
        failed = None
    except TurnFailed as error:
        failed = {**told(error), "text": error.result.text, "path": [asdict(step) for step in error.result.path]}
    return {
        "busy": busy,
        "went_on": went_on,
        "graph": await failure(client.create_agent(graph=graph)),
        "resume": await failure(client.request("resumeSession", {"sessionId": "x"})),
        "turn": failed,
    }


async def meets_models(client):
    models = [asdict(model) for model in await client.list_models()]
    await client.load_model(models[0]["name"])
    pinned = (await client.list_models())[0].pinned
    await client.unload_model(models[0]["name"])
    return {"models": models, "pinned": pinned, "after": (await client.list_models())[0].pinned}


async def downloads(client):
    """On a hub that sends nothing until the test lets it; a real engine, for the mock needs no files."""
    told = []
    asked = asyncio.create_task(client.download_model("Tiny", on_progress=lambda progress: asked.cancel()))
    try:
        await asked
    except asyncio.CancelledError:
        pass
    late = await failure(client.download_model("Tiny", timeout=0.05))
    waiting = asyncio.create_task(failure(client.download_model("Tiny")))
    await asyncio.sleep(0)
    await client.cancel_download("Tiny")
    cancelled = await waiting
    ask_the_test("let the hub go on")
    size = await client.download_model("Tiny", on_progress=lambda progress: told.append(asdict(progress)))
    await client.delete_model("Tiny")
    absent = await failure(client.delete_model("Tiny"))
    status = {model.name: model.status for model in await client.list_models()}["Tiny"]
    phases = []
    agent = await client.create_agent(
        graph=CHAT, default_model_name="Demo", on_progress=lambda progress: phases.append(progress.phase)
    )
    return {
        "late": late,
        "cancelled": cancelled,
        "size": size,
        "told": told[-1],
        "absent": absent,
        "status": status,
        "phases": sorted(set(phases)),
        "last": phases[-1],
        "agent": agent.id,
    }


async def many_at_once(client):
    agents = await asyncio.gather(*(client.create_agent(graph=CHAT) for _ in range(8)))
    results = await asyncio.gather(*(agent.send(f"number {agent.id}") for agent in agents))
    return [result.text == f"You said: number {agent.id}" for agent, result in zip(agents, results)]


async def drops(url, form):
    async with connect(url, form=form) as client:
        await client.configure(engine="mock")
        agent = await client.create_agent(graph=CHAT)
        turn = agent.send("never")
        try:
            await agent.send("x" * (1024 * 1024 + 1))
        except ConnectionDropped as error:
            dropped = {**told(error), "close_code": error.close_code}
        return {"dropped": dropped, "turn": await failure(turn._finish()), "after": await failure(client.list_models())}


async def cannot_connect(url, form, **options):
    try:
        async with connect(url, form=form, **options):
            return None
    except ConnectionFailed as error:
        return told(error)


def golden(path):
    """The frames whose bytes do not say what their JSON says, or that we would write otherwise."""
    import wire_pb2
    from google.protobuf import json_format

    different = []
    with open(path, encoding="utf-8") as file:
        frames = json.load(file)
    for frame in frames:
        kind = wire_pb2.ClientFrame if frame["direction"] == "client" else wire_pb2.ServerFrame
        data = bytes.fromhex(frame["binary"])
        message = json_format.ParseDict(frame["json"], kind())
        if kind.FromString(data) != message or message.SerializeToString() != data:
            different.append(frame["name"])
    return different


async def main(url, locked, hub, form, path):
    story = {}
    async with connect(url, form=form) as client:
        story["version"] = client.server_version
        await client.configure(engine="mock")
        for scene in [
            streams, calls, cancels, gives_up, changes, saves, guards, is_refused, meets_models, many_at_once
        ]:  # fmt: skip
            story[scene.__name__] = await scene(client)
    async with connect(hub, form=form) as client:
        await client.configure(allow_auto_model_downloading=True)
        story["downloads"] = await downloads(client)
    story["drops"] = await drops(url, form)
    story["without_token"] = await cannot_connect(locked, form)
    story["with_token"] = await cannot_connect(locked, form, token="open sesame")
    story["without_server"] = await cannot_connect("ws://127.0.0.1:1", form)
    story["golden"] = golden(path)
    print(json.dumps(story))


asyncio.run(main(*sys.argv[1:]))
