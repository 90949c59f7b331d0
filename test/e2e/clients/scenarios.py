"""Scenarios of the Python client on test servers; prints the results as JSON.

Usage: scenarios.py URL LOCKED_URL HUB_URL CODEC GOLDEN_FILE
"""

import asyncio
import json
import sys
from dataclasses import asdict

import turngraph
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


def as_dict(error):
    return {"kind": type(error).__name__, "code": error.code, "name": error.name, "message": error.message}


def signal_test(message):
    """Asks the test to open the gate that holds the answer or the hub."""
    print(message, file=sys.stderr, flush=True)


async def failure(awaitable):
    try:
        await awaitable
    except TurngraphError as error:
        return {**as_dict(error), "faults": [fault["pointer"] for fault in error.faults]}
    return None


async def code(call):
    try:
        await call()
    except TurngraphError as error:
        return [error.code, error.message]
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


async def times_out(client):
    agent = await client.create_agent(graph=CHAT)
    first = await failure(agent.send("never", timeout=0.2)._finish())
    second = await agent.send("hello")
    return {"first": first, "second": second.text}


async def changes(client):
    agent = await client.create_agent(graph=CHAT)
    await agent.change_params("answer", {"stream": False, "sampling": {"stop": ["llo"]}})
    pieces = [event.text async for event in agent.send("hello")]
    rejected = await failure(agent.change_params("answer", {"model_name": "x"}))
    return {"pieces": pieces, "rejected": rejected}


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
    all_events = [asdict(event) async for event in agent.send("An ATTACK!") if isinstance(event, NodeEvent)]
    events = [event for event in all_events if not event["event_type"].startswith("node_")]
    result = await agent.send("hello")
    await client.destroy_string_storage("attacks")
    keys = await client.create_string_storage("greetings", {"de": "Hallo", "en": "Hello"})
    hits = await client.search_storage("greetings", "say hallo", top_k=1)
    found = [hit["id"] for hit in hits]
    return {"entries": entries, "events": events, "debug": result.debug_info is not None, "keys": keys, "found": found}


async def raises(client):
    agent = await client.create_agent(graph=CHAT)
    first, second = agent.send("slowly"), agent.send("and now?")
    busy = await failure(second._finish())
    signal_test("release the answer")
    continued = (await first).text
    graph = {"start_node": "anwser", "nodes": {"answer": {"type": "Generate", "exits": {"default": "b"}}}}
    loop = await client.create_agent(graph=LOOP, max_steps_per_turn=3)
    try:
        await loop.send("go")
        failed = None
    except TurnFailed as error:
        failed = {**as_dict(error), "text": error.result.text, "path": [asdict(step) for step in error.result.path]}
    return {
        "busy": busy,
        "continued": continued,
        "graph": await failure(client.create_agent(graph=graph)),
        "resume": await failure(client.request("resumeSession", {"sessionId": "x"})),
        "misspelt": await failure(client.request("createAgnt", {})),
        "turn": failed,
    }


async def refuses(client):
    """Arguments of the wrong type: the code of the error for each, and an answer after them."""
    agent = await client.create_agent(graph=CHAT)
    calls = {
        "number in variables": lambda: agent.send("hi", variables={"hour": 9})._finish(),
        "None in variables": lambda: agent.send("hi", variables={"hour": None})._finish(),
        "number as text": lambda: agent.send(5)._finish(),
        "None as text": lambda: agent.send(None)._finish(),
        "bytes as text": lambda: agent.send(b"hi")._finish(),
        "half a surrogate pair": lambda: agent.send("\ud83d")._finish(),
        "number as flag": lambda: client.create_agent(graph=CHAT, warm_up=1),
        "negative number": lambda: client.create_agent(graph=CHAT, max_steps_per_turn=-1),
        "misspelt field": lambda: client.request("exportDialog", {"agentID": agent.id}),
        "text as list": lambda: client.create_string_storage("refusals", "No."),
        "number in list": lambda: client.create_string_storage("refusals", ["No.", 2]),
    }
    codes = {name: await code(call) for name, call in calls.items()}
    return {"codes": codes, "after": (await agent.send("hello")).text, "pending": len(client._pending)}


async def manages_models(client):
    models = [asdict(model) for model in await client.list_models()]
    await client.load_model(models[0]["name"])
    pinned = (await client.list_models())[0].pinned
    await client.unload_model(models[0]["name"])
    suggested = asdict(await client.suggest_models(languages=["en"]))
    nothing = await client.suggest_models(max_bytes=1)
    wrong = await failure(client.suggest_models(languages=["xx"]))
    return {
        "suggested": suggested,
        "nothing": nothing.models,
        "wrong": wrong,
        "models": models,
        "pinned": pinned,
        "after": (await client.list_models())[0].pinned,
    }


async def downloads(client):
    """The hub sends nothing until the test releases it. The engine is llama-cpp: the mock engine needs no files."""
    progress = []
    download = asyncio.create_task(client.download_model("Tiny", on_progress=lambda _: download.cancel()))
    try:
        await download
    except asyncio.CancelledError:
        pass
    late = await failure(client.download_model("Tiny", timeout=0.05))
    pending = asyncio.create_task(failure(client.download_model("Tiny")))
    await asyncio.sleep(0)
    await client.cancel_download("Tiny")
    cancelled = await pending
    signal_test("release the hub")
    size = await client.download_model("Tiny", on_progress=lambda update: progress.append(asdict(update)))
    await client.delete_model("Tiny")
    absent = await failure(client.delete_model("Tiny"))
    status = {model.name: model.status for model in await client.list_models()}["Tiny"]
    phases = []
    agent = await client.create_agent(
        graph=CHAT, default_model_name="Demo", on_progress=lambda update: phases.append(update.phase)
    )
    return {
        "late": late,
        "cancelled": cancelled,
        "size": size,
        "progress": progress[-1],
        "absent": absent,
        "status": status,
        "phases": sorted(set(phases)),
        "last": phases[-1],
        "agent": agent.id,
    }


async def runs_many(client):
    agents = await asyncio.gather(*(client.create_agent(graph=CHAT) for _ in range(8)))
    results = await asyncio.gather(*(agent.send(f"number {agent.id}") for agent in agents))
    return [result.text == f"You said: number {agent.id}" for agent, result in zip(agents, results)]


async def sends_no_frame_that_is_too_long(client):
    agent = await client.create_agent(graph=CHAT, history=None)
    history = [{"user": "x" * 600_000, "assistant": "y" * 600_000}]
    return {
        "codes": [
            await code(lambda: agent.send("x" * 1_200_000)),
            await code(lambda: client.create_agent(graph=CHAT, history=history)),
        ],
        "after": (await agent.send("hello")).text,
    }


async def drops(url, form):
    client = await connect(url, form=form)
    try:
        await client.configure(engine="mock")
        agent = await client.create_agent(graph=CHAT)
        turn = agent.send("never")
        turngraph.MAX_FRAME_BYTES *= 2  # what the server does with a client that does not check
        try:
            await agent.send("x" * (1024 * 1024 + 1))
        except ConnectionDropped as error:
            dropped = {**as_dict(error), "close_code": error.close_code}
        return {"dropped": dropped, "turn": await failure(turn._finish()), "after": await failure(client.list_models())}
    finally:
        await client.close()


async def cannot_connect(url, form, **options):
    try:
        async with connect(url, form=form, **options):
            return None
    except ConnectionFailed as error:
        return as_dict(error)


def golden(path):
    """Names of the golden frames that the client decodes or encodes differently."""
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
    results = {}
    async with connect(url, form=form) as client:
        results["version"] = client.server_version
        await client.configure(engine="mock")
        for scenario in [
            streams, calls, cancels, times_out, changes, saves, guards, raises, refuses,
            sends_no_frame_that_is_too_long, manages_models, runs_many,
        ]:  # fmt: skip
            results[scenario.__name__] = await scenario(client)
    async with connect(hub, form=form) as client:
        await client.configure(allow_auto_model_downloading=True)
        results["downloads"] = await downloads(client)
    results["drops"] = await drops(url, form)
    results["without_token"] = await cannot_connect(locked, form)
    results["with_token"] = await cannot_connect(locked, form, token="open sesame")
    results["without_server"] = await cannot_connect("ws://127.0.0.1:1", form)
    results["golden"] = golden(path)
    print(json.dumps(results))


asyncio.run(main(*sys.argv[1:]))
