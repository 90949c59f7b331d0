"""Scenarios of the executor and of submitted results on a test server; prints the results as JSON.

Usage: toolScenarios.py URL CODEC
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from dataclasses import replace
from typing import Annotated, Any, Literal, Optional, Sequence

import turngraph
from turngraph import (
    Block,
    Call,
    Client,
    ConnectionDropped,
    Executor,
    Text,
    TimedOut,
    ToolEvent,
    ToolFailed,
    ToolResult,
    TurnFailed,
    TurngraphError,
    connect,
    tool,
)

TOOLS = [
    {
        "name": "set_light",
        "description": "Switches a light.",
        "parameters": [{"name": "name", "type": "string"}, {"name": "on", "type": "boolean"}],
    },
    {"name": "get_weather", "description": "Tells the weather.", "parameters": [{"name": "city", "type": "string"}]},
    {
        "name": "pay",
        "description": "Pays.",
        "consequential": True,
        "parameters": [{"name": "amount", "type": "integer", "enum": [1, 5]}],
    },
]
REPORT = "{{#tool_results}}{{name}}: {{content}}{{^ok}} (failed){{/ok}}. {{/tool_results}}{{previous_tool_results}}"


def graph(**params: Any) -> dict[str, Any]:
    """Detects calls, waits for their results, and reports these as text."""
    exits = {"tool_called": "report", "no_tool_called": "report", "no_results": "sorry"}
    return {
        "start_node": "detect",
        "nodes": {
            "detect": {"type": "ToolCall", "params": {"tools": TOOLS, "await_results": True, **params}, "exits": exits},
            "report": {"type": "CannedResponse", "params": {"inline_strings": [REPORT]}},
            "sorry": {"type": "CannedResponse", "params": {"inline_strings": ["Nobody answers."]}},
        },
    }


async def code(awaitable: Any) -> list[Any] | None:
    try:
        await awaitable
    except TurngraphError as error:
        return [error.code, error.message]
    return None


def runs_of(result: Any) -> list[Any]:
    return [[run.call.tool_name, run.outcome, run.result.content, run.in_turn] for run in result.tool_runs]


async def answers_with_the_result(client: Client) -> Any:
    events: list[ToolEvent] = []

    def set_light(name: str, on: bool) -> str:
        return f"the {name} is {'on' if on else 'off'}"

    agent = await client.create_agent(graph=graph())
    turn = agent.send("light", tools=Executor({"set_light": set_light}, on_event=events.append))
    kinds = [type(event).__name__ async for event in turn]
    result = await turn
    return {
        "kinds": kinds,
        "awaits": result.calls[0].awaits_result,
        "text": result.text,
        "runs": runs_of(result),
        "events": [[event.kind, event.call.call_id == result.calls[0].call_id] for event in events],
        "content": events[-1].result and events[-1].result.content,
    }


async def runs_in_parallel(client: Client) -> Any:
    """The coroutines end in the opposite order of the calls, and the threads only when all of them have begun."""
    ended: list[str] = []
    next_of = {"Paris": "Oslo", "Oslo": "Rome"}
    gates = {city: asyncio.Event() for city in ("Paris", "Oslo", "Rome")}
    barrier = threading.Barrier(3, timeout=20)

    async def in_turn(city: str) -> str:
        if city in next_of:
            await gates[next_of[city]].wait()
        ended.append(city)
        gates[city].set()
        return f"sun in {city}"

    def in_threads(city: str) -> str:
        barrier.wait()
        return city.upper()

    agent = await client.create_agent(graph=graph())
    first = await agent.send("three", tools=Executor({"get_weather": in_turn}))
    second = await agent.send("three", tools=Executor({"get_weather": in_threads}))
    return {"ended": ended, "first": first.text, "second": second.text}


async def runs_at_most_some(client: Client) -> Any:
    running = peak = started = 0
    two = asyncio.Event()

    async def get_weather(city: str) -> str:
        nonlocal running, peak, started
        running, started = running + 1, started + 1
        peak = max(peak, running)
        if started == 2:
            two.set()
        await two.wait()
        running -= 1
        return city

    agent = await client.create_agent(graph=graph())
    result = await agent.send("three", tools=Executor({"get_weather": get_weather}, concurrency=2))
    return {"peak": peak, "text": result.text}


class NoJson:
    def __repr__(self) -> str:
        return "NoJson"


async def fails_without_a_crash(client: Client) -> Any:
    """What becomes of tools that cannot be run or go wrong: the text of the turn, and the outcome."""
    called: list[Any] = []

    def raises(name: str, on: bool) -> str:
        raise ValueError(f"no light {name}")

    async def raises_later(**arguments: Any) -> str:
        await asyncio.sleep(0)
        raise KeyError("porch")

    def stops(name: str, on: bool) -> str:
        return next(light for light in ("hall",) if light == name)

    async def is_cancelled(**arguments: Any) -> None:
        raise asyncio.CancelledError

    def other_params(name: str, colour: str) -> None:
        called.append(name)

    def fewer_params(name: str) -> None:
        called.append(name)

    def other_types(name: str, on: Optional[int] = None) -> None:
        called.append(name)

    def other_literals(name: Annotated[Literal["hall", "cellar"], "a light"], on: bool) -> None:
        called.append(name)

    def lists(name: Sequence[str], on: bool) -> None:
        called.append(name)

    def positional(name: str, on: bool, /) -> None:
        called.append(name)

    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def unprintable(**_: Any) -> None:
        raise Unprintable

    tools: dict[str, Any] = {
        "raises": raises,
        "raises in a coroutine": raises_later,
        "StopIteration": stops,
        "CancelledError": is_cancelled,
        "no JSON": lambda **_: NoJson(),
        "NaN": lambda **_: [float("nan")],
        "half a surrogate pair": lambda **_: "\ud83d",
        "too long": lambda **_: "x" * (256 * 1024 + 1),
        "not ok": lambda **_: ToolResult({"reason": "broken"}, ok=False),
        "another parameter": other_params,
        "a parameter less": fewer_params,
        "another type": other_types,
        "another literal": other_literals,
        "no list": lists,
        "positional": positional,
        "unprintable": unprintable,
        "too long as JSON": lambda **_: "\0" * 200_000,
        "another lifespan": lambda **_: ToolResult("on", lifespan="dialog"),  # type: ignore[arg-type]
        "another ok": lambda **_: ToolResult("on", ok="yes"),  # type: ignore[arg-type]
    }
    agent = await client.create_agent(graph=graph())
    outcomes = {}
    for name, tool in tools.items():
        result = await agent.send("light", tools=Executor({"set_light": tool}, on_event=lambda _: None))
        outcomes[name] = [result.text, *[run.outcome for run in result.tool_runs]]
    unregistered = await agent.send("light", tools=Executor({}))
    outcomes["unregistered"] = [unregistered.text]
    unknown = await agent.send("sing", tools=Executor({"sing": lambda **_: called.append("sing")}))
    outcomes["unknown to the graph"] = [unknown.text]
    other = await client.create_agent(graph=graph(on_incomplete="notify"))
    incomplete = await other.send("incomplete", tools=Executor({"set_light": lambda **_: called.append("light")}))
    outcomes["incomplete"] = [incomplete.text]
    wrong = await other.send("wrong type", tools=Executor({"set_light": lambda **_: called.append("light")}))
    outcomes["wrong type"] = [wrong.text]
    return {"outcomes": outcomes, "called": called}


async def returns_all_kinds(client: Client) -> Any:
    """Values that are results, and hints that the arguments fit."""

    def typed(name: str | None, on: Literal[True, False]) -> dict[str, Any]:
        return {"é": [1, name, on]}

    class Lamp:
        async def __call__(self, name: Annotated[str, "which"], on: "bool") -> None:
            pass

        def method(self, **arguments: object) -> list[Any]:
            return sorted(arguments)

        def unresolved(self, name: "NotDefinedHere", on: bool) -> int:  # type: ignore[name-defined]  # noqa: F821
            return 3

    lamp = Lamp()
    tools: list[Any] = [typed, lamp, lamp.method, lamp.unresolved, lambda name, on: "", lambda **_: typed("x", True).__str__()]
    agent = await client.create_agent(graph=graph())
    return [(await agent.send("light", tools=Executor({"set_light": tool}))).text for tool in tools]


async def asks_hooks(client: Client) -> Any:
    async def off(call: Call) -> Call:
        return replace(call, arguments={**call.arguments, "on": False})

    def other(call: Call) -> Call:
        return replace(call, tool_name="rm", call_id="", awaits_result=False)

    hooks: dict[str, dict[str, Any]] = {
        "nothing": {"before": lambda call: None, "after": lambda call, result: None},
        "changes": {"before": off},
        "changes the name": {"before": other},
        "replaces": {"before": lambda call: ToolResult("as before")},
        "blocks": {"before": lambda call: Block("not at night")},
        "raises": {"before": lambda call: 1 / 0},
        "wrong": {"before": lambda call: False},
        "after a block": {"before": lambda call: Block(), "after": lambda call, result: ToolResult("as if")},
        "after": {"after": lambda call, result: ToolResult(f"{result.content}!", ok=False)},
        "after raises": {"after": lambda call, result: 1 / 0},
        "after wrong": {"after": lambda call, result: "text"},
    }
    agent = await client.create_agent(graph=graph())
    texts = {}
    for name, options in hooks.items():
        events: list[str] = []
        options["on_event"] = lambda event, events=events: events.append(event.kind)
        tools = Executor({"set_light": lambda name, on: f"{name} {on}"}, **options)
        result = await agent.send("light", tools=tools)
        texts[name] = [result.text, events]
    lenient = await client.create_agent(graph=graph(on_incomplete="notify"))
    completes = Executor({"set_light": lambda name, on: f"{name} {on}"}, before=off)
    texts["completes"] = [(await lenient.send("incomplete", tools=completes)).text]
    return texts


async def asks_for_confirmation(client: Client) -> Any:
    asked: list[Any] = []
    paid: list[int] = []

    def confirm(call: Call) -> Any:
        asked.append([call.tool_name, dict(call.arguments)])
        return [False, "no", 1 / 0 if len(asked) == 3 else 0, True][len(asked) - 1]

    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    agent = await client.create_agent(graph=graph())
    tools = Executor({"pay": pay, "set_light": lambda name, on: "on"}, confirm=confirm, on_event=lambda _: None)
    texts = [(await agent.send(text, tools=tools)).text for text in ("pay", "light", "pay", "pay", "pay")]
    return {"texts": texts, "asked": asked, "paid": paid}


async def stops_on_a_block(client: Client) -> Any:
    called: list[str] = []

    def before(call: Call) -> Block | None:
        return Block("not there") if call.arguments["city"] == "Oslo" else None

    agent = await client.create_agent(graph=graph())
    results = []
    for stop in (True, False):
        tools = Executor({"get_weather": lambda city: called.append(city)}, before=before, stop_on_block=stop)
        results.append(runs_of(await agent.send("three", tools=tools)))
    loop = graph(max_rounds=2)
    loop["nodes"]["detect"]["exits"]["tool_called"] = "detect"
    agent = await client.create_agent(graph=loop)
    tools = Executor({"get_weather": lambda city: called.append(city)}, before=before, stop_on_block=True)
    twice = await agent.send("twice", tools=tools)
    return {"stops": results[0], "goes_on": results[1], "called": sorted(called), "twice": runs_of(twice)}


async def throws_on_failure(client: Client) -> Any:
    cancelled = asyncio.Event()

    async def get_weather(city: str) -> str:
        if city == "Oslo":
            raise ValueError("no sky")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    agent = await client.create_agent(graph=graph())
    tools = Executor({"get_weather": get_weather}, throw_on_failure=True, on_event=lambda _: None)
    turn = agent.send("three", tools=tools)
    raised: list[Any] = []
    for _ in range(2):
        try:
            await turn
        except ToolFailed as error:
            raised.append([str(error), repr(error.__cause__), error.call.arguments["city"], error.result.ok])
    after = await agent.send("hello")
    return {"raised": raised, "cancelled": cancelled.is_set(), "after": after.text != ""}


async def brings_late_results_with_the_next_message(client: Client) -> Any:
    is_late = asyncio.Event()

    async def set_light(name: str, on: bool) -> dict[str, bool]:
        await is_late.wait()
        return {"on": on}

    ended = asyncio.Event()

    def on_event(event: ToolEvent) -> None:
        if event.kind == "completed":
            ended.set()

    tools = Executor({"set_light": set_light}, on_event=on_event)
    agent = await client.create_agent(graph=graph(results_timeout_ms=50))
    result = await agent.send("light", tools=tools)
    call = result.calls[0]
    late = [await code(agent.submit_tool_results({call.call_id: "on"}, turn_id)) for turn_id in (0, call.turn_id)]
    texts = [(await agent.send("hello")).text]
    is_late.set()
    await ended.wait()
    texts += [(await agent.send("hello")).text for _ in range(3)]
    return {
        "text": result.text,
        "runs": runs_of(result),
        "late": [each and each[0] for each in late],
        "texts": [text for text in texts if text],
        "first": texts[0],
    }


async def cancels_tools(client: Client) -> Any:
    outcomes: dict[str, Any] = {}
    agent = await client.create_agent(graph=graph())
    for how in ("turn", "task", "timeout", "loop"):
        started, cancelled = asyncio.Event(), asyncio.Event()

        async def set_light(name: str, on: bool) -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        events: list[str] = []
        tools = Executor({"set_light": set_light}, on_event=lambda event: events.append(event.kind))
        turn = agent.send("light", tools=tools, timeout=0.3 if how == "timeout" else None)
        task = asyncio.ensure_future(turn if how != "loop" else iterate(turn))
        await started.wait()
        if how == "turn":
            await turn.cancel()
        elif how != "timeout":
            task.cancel()
        try:
            await task
            raised = ""
        except (asyncio.CancelledError, TimedOut) as error:
            raised = type(error).__name__
        try:
            result = await turn
            end = [result.status, runs_of(result)]
        except TimedOut:
            end = ["TimedOut"]
        outcomes[how] = [raised, cancelled.is_set(), events, *end, (await agent.send("hello", variables=NONE)).status]
    return outcomes


NONE = {"previous_tool_results": ""}


async def iterate(turn: Any) -> None:
    async for _ in turn:
        pass


async def brings_results_with_the_next_message(client: Client) -> Any:
    tools = Executor({"get_weather": lambda city: {"city": city}})
    agent = await client.create_agent(graph=graph(await_results=False))
    first = await agent.send("three", tools=tools)
    own = await agent.send("hello", variables=NONE)
    slow = agent.send("slowly")
    busy = await code(agent.send("hello")._finish())
    return {
        "first": [first.text, runs_of(first)],
        "own": own.text,
        "refused": [busy and busy[0], (await slow).text],
        "next": json.loads((await agent.send("hello")).text or "null"),
        "later": (await agent.send("hello")).text,
    }


async def gives_back_results_of_a_refused_message(client: Client) -> Any:
    tools = Executor({"set_light": lambda name, on: "on"})
    agent = await client.create_agent(graph=graph(await_results=False))
    await agent.send("light", tools=tools)
    wrong = await code(client_send(agent, 5))
    long = await code(agent.send("x" * (256 * 1024 + 1))._finish())
    return [wrong and wrong[0], long and long[0], len(json.loads((await agent.send("hello")).text))]


async def client_send(agent: Any, text: Any) -> Any:
    return await agent.send(text)


async def keeps_the_arguments_of_the_model(client: Client) -> Any:
    def sing(function: str, notes: list[Any]) -> str:
        notes.append(object())
        return function

    parameters = [{"name": "function", "type": "string"}, {"name": "notes", "type": "array"}]
    tools = [{"name": "sing", "description": "Sings.", "parameters": parameters}]
    agent = await client.create_agent(graph=graph(tools=tools, await_results=False))
    await agent.send("function", tools=Executor({"sing": sing}))
    return json.loads((await agent.send("hello")).text)


async def cancels_the_turn_in_a_hook(client: Client) -> Any:
    ran: list[str] = []
    agent = await client.create_agent(graph=graph())

    async def before(call: Call) -> None:
        await turn.cancel()

    tools = Executor({"set_light": lambda name, on: ran.append(name)}, before=before, on_event=lambda _: None)
    turn = agent.send("light", tools=tools)
    result = await turn
    return [result.status, [run.outcome for run in result.tool_runs], ran]


async def holds_up_no_later_node(client: Client) -> Any:
    """Calls of a second node, after the turn has given up that of the first."""
    document = graph()
    first = document["nodes"]["detect"]
    document["nodes"]["again"] = first
    exits = {**first["exits"], "no_results": "again"}
    document["nodes"]["detect"] = {**first, "params": {**first["params"], "results_timeout_ms": 100}, "exits": exits}

    async def before(call: Call) -> None:
        if call.node_name == "detect":
            await asyncio.Event().wait()

    async def get_weather(city: str) -> str:
        if city == "Paris":
            await asyncio.Event().wait()
        return "sun"

    texts = []
    for options in ({"before": before}, {"concurrency": 1}, {"before": before, "throw_on_failure": True}):
        agent = await client.create_agent(graph=document)
        tools = Executor({"get_weather": get_weather}, on_event=lambda _: None, **options)  # type: ignore[arg-type]
        turn = await agent.send("then", tools=tools)
        texts.append([turn.text, [run.outcome for run in turn.tool_runs]])
    return texts


async def brings_long_results_one_after_the_other(client: Client) -> Any:
    lengths = {"Paris": 80_000, "Oslo": 100_000, "Rome": 200_000}
    tools = Executor({"get_weather": lambda city: "\n" * (lengths[city] // 3) + city})
    agent = await client.create_agent(graph=graph(await_results=False))
    await agent.send("three", tools=tools)
    messages = [json.loads((await agent.send("hello")).text or "[]") for _ in range(4)]
    return [[[entry["ok"], entry["content"].strip()] for entry in message] for message in messages]


async def forgets_results_with_the_dialog(client: Client) -> Any:
    agent = await client.create_agent(graph=graph(await_results=False))
    await agent.send("light", tools=Executor({"set_light": lambda name, on: "on"}))
    await agent.clear_dialog()
    return (await agent.send("hello")).text


async def submits_by_hand(client: Client) -> Any:
    agent = await client.create_agent(graph=graph())
    turn = agent.send("three")
    calls: list[Call] = []
    refused: list[Any] = []
    async for event in turn:
        if isinstance(event, Call):
            calls.append(event)
        if len(calls) == 3 and not refused:
            first, second, third = (call.call_id for call in calls)
            refused += [
                await code(agent.submit_tool_results({"nobody": "x"})),
                await code(agent.submit_tool_results({first: "x"}, turn_id=7)),
                await code(agent.submit_tool_results({first: NoJson()})),
                await code(agent.submit_tool_results({first: "x" * (256 * 1024 + 1)})),
                await code(agent.append_dialog("You were away.", "I see.")),
            ]
            await agent.submit_tool_results({third: {"degrees": 18.5}})
            refused.append(await code(agent.submit_tool_results({third: "again"})))
            results = {first: ToolResult("snow", lifespan="DIALOG"), second: ToolResult("no sky", ok=False)}
            await agent.submit_tool_results(results, calls[0].turn_id)
    result = await turn
    return {
        "text": result.text,
        "codes": [refusal and refusal[0] for refusal in refused],
        "runs": result.tool_runs,
        "dialog": await agent.export_dialog(),
    }


async def sets_the_pace(client: Client) -> Any:
    agent, other = await client.create_agent(graph=graph()), await client.create_agent(graph=graph())

    async def send_wrongly() -> None:
        await other.send("Hello!", priority="HIGH")  # type: ignore[arg-type]

    await client.set_pace(paused=True)
    turn = asyncio.ensure_future(agent.send("Hello!", priority="URGENT")._finish())
    wrong = await code(send_wrongly())
    is_paused = not turn.done()
    await client.set_pace(max_tokens_per_second=1000, max_threads=1)
    status = (await turn).status
    await client.set_pace()
    return {"paused": is_paused, "status": status, "wrong": wrong and wrong[0]}


async def appends_to_the_dialog(client: Client) -> Any:
    agent = await client.create_agent(graph=graph())
    await agent.append_dialog("Who are you?", "The porter.")
    await agent.append_dialog(assistant="Come in.")
    empty = await code(agent.append_dialog())
    dialog = [[entry["user"], entry["assistant"]] for entry in await agent.export_dialog()]
    return {"dialog": dialog, "empty": empty and empty[0]}


async def lets_people_take_part(client: Client) -> Any:
    agent = await client.create_agent(graph=graph())

    async def set_light(name: str, on: bool) -> ToolResult:
        await agent.append_text("One moment.", notify=True)
        return ToolResult("on", metadata={"watts": 9}, control={"mode": "MANUAL"})

    turn = agent.send("light", tools=Executor({"set_light": set_light}))
    texts = [[event.text, event.source] async for event in turn if isinstance(event, Text)]
    result = await turn
    manual = await agent.send("Is anybody there?")
    lines = [await agent.append_text("I am."), await agent.append_text("Good.", role="user", notify=True)]
    await agent.set_agent_mode("AUTO")
    await agent.set_variables({"previous_tool_results": 3})
    auto = await agent.send("hello")
    ends = Executor({"set_light": lambda name, on: ToolResult("on", control={"endTurn": True, "answer": "Enough."})})
    ended = await agent.send("light", tools=ends)
    detached = await client.create_agent(graph=graph(await_results=False))
    await detached.send("light", tools=Executor({"set_light": lambda name, on: ToolResult("on", control={"mode": "MANUAL"})}))
    return {
        "texts": texts,
        "lines": lines,
        "text": result.text,
        "modes": [result.mode, manual.mode, auto.mode, (await detached.send("hello")).mode],
        "metadata": list(result.result_metadata.values()),
        "answers": [manual.text, auto.text, ended.text],
        "dialog": [entry["user"] + entry["assistant"] for entry in await agent.export_dialog()],
        "wrong": [await code(agent.append_text("")), await code(agent.set_agent_mode("SHARED"))],  # type: ignore[arg-type]
        "no_json": await code(agent.submit_tool_results({"x": ToolResult("on", metadata={1, 2})})),
    }


async def runs_tools_of_turns_that_nobody_reads(client: Client) -> Any:
    called = asyncio.Event()

    async def set_light(name: str, on: bool) -> str:
        called.set()
        return "on"

    agent = await client.create_agent(graph=graph())
    turn = agent.send("light", tools=Executor({"set_light": set_light}))
    await called.wait()
    return (await turn).text


async def is_read_twice(client: Client) -> Any:
    agent = await client.create_agent(graph=graph())
    turn = agent.send("light", tools=Executor({"set_light": lambda name, on: "on"}))
    await asyncio.gather(iterate(turn), turn_of(turn), turn_of(turn))
    return (await turn).text


async def turn_of(turn: Any) -> Any:
    return await turn


async def cancels_only_its_own_turn(client: Client) -> Any:
    agent = await client.create_agent(graph=graph())
    first, second = agent.send("slowly"), agent.send("busy")
    await second.cancel()
    return [(await code(second._finish()) or [0])[0], (await first).status]


async def ends_tools_when_the_connection_ends(url: str, form: str) -> Any:
    async with connect(url, form=form) as client:
        await client.configure(engine="mock")
        agent = await client.create_agent(graph=graph())
        started, cancelled = asyncio.Event(), asyncio.Event()

        async def set_light(name: str, on: bool) -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        turn = agent.send("light", tools=Executor({"set_light": set_light}))
        await started.wait()
        turngraph.MAX_FRAME_BYTES *= 2  # what the server does with a client that does not check
        try:
            await agent.send("x" * (1024 * 1024 + 1))
        except ConnectionDropped:
            pass
        try:
            await turn
        except ConnectionDropped as error:
            return [error.code, cancelled.is_set()]


async def tells_of_failed_turns(client: Client) -> Any:
    tools = Executor({"set_light": lambda name, on: "on"})
    loop = {**graph()["nodes"]["report"], "exits": {"default": "report"}}
    broken = {**graph(), "nodes": {**graph()["nodes"], "report": loop}}
    agent = await client.create_agent(graph=broken, max_steps_per_turn=3)
    try:
        await agent.send("light", tools=tools)
    except TurnFailed as error:
        return [error.code, runs_of(error.result)]


async def logs_errors(client: Client) -> Any:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.handle = records.append  # type: ignore[assignment]
    logger = logging.getLogger("turngraph")
    logger.addHandler(handler)
    logger.propagate = False
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(str(context["exception"])))
    agent = await client.create_agent(graph=graph())
    await agent.send("light", tools=Executor({"set_light": lambda **_: 1 / 0}))
    logger.setLevel(logging.DEBUG)
    await agent.send("light", tools=Executor({"set_light": lambda **_: 1 / 0}))
    logger.setLevel(logging.NOTSET)
    await agent.send("light", tools=Executor({}))
    await agent.send("light", tools=Executor({"set_light": lambda **_: 1}, on_event=lambda event: [][0]))
    logger.removeHandler(handler)
    asyncio.get_running_loop().set_exception_handler(None)
    return {"logged": [[r.getMessage(), r.exc_info and repr(r.exc_info[1])] for r in records], "reported": reported}


async def runs_tools_that_are_defined_once(client: Client) -> Any:
    got: list[Any] = []

    @tool
    async def set_light(
        name: Literal["porch", "hall"], on: bool, level: int | float = 3, rooms: Optional[list[str]] = None
    ) -> str:
        """Switch a light
        on or off.

        The model is not told this.

        Args:
            name: Which light.
            level (int): How bright:
                from 1 to 5.

        Returns:
            A sentence.
        """
        got.append([name, on, level, rooms])
        return f"the {name} is on"

    @tool(consequential=True)
    def pay(amount: Annotated[int, "coins"]) -> str:
        """Pay."""
        return f"{amount} paid"

    @tool
    def ring() -> None:
        """Ring the bell."""

    named = graph(tools=["set_light", "pay"])
    agent = await client.create_agent(graph=named, tools=[set_light, pay])
    texts = [(await agent.send("light")).text, (await agent.send("pay")).text]
    texts.append((await agent.send("pay", tools=Executor({"pay": lambda amount: "another one"}))).text)
    careful = await client.create_agent(graph=named, tools=Executor([set_light, pay], confirm=lambda call: False))
    texts.append((await careful.send("pay")).text)
    history = await careful.export_dialog()
    later = await client.create_agent(graph=named, tools=[set_light, pay], history=history)
    texts.append((await later.send("light")).text)
    return {
        "declarations": [set_light.declaration, pay.declaration, ring.declaration],
        "texts": texts,
        "got": got,
        "called": await set_light("hall", True),
        "refused": [
            await code(client.create_agent(graph=graph(tools=["set_light", "pey"]), tools=[set_light, pay])),
            await code(client.create_agent(graph=named, tools=[set_light, pay, ring])),
            await code(client.create_agent(graph=named)),
        ],
    }


def refuses_functions() -> Any:
    def undocumented(name: str) -> None: ...

    def unhinted(name) -> None:  # type: ignore[no-untyped-def]
        """Wait."""

    def of_bytes(name: bytes) -> None:
        """Wait."""

    def any_number(*names: str) -> None:
        """Wait."""

    def without_default(name: str | None) -> None:
        """Wait."""

    def misspelt(name: str) -> None:
        """Wait.

        Args:
            nmae: Whose.
        """

    def message(make: Any) -> str:
        try:
            make()
        except TypeError as error:
            return str(error)
        return ""

    class Room:
        def set_lamp(self, on: bool) -> None:
            """Turn the lamp on or off."""

    assert tool(Room().set_lamp).declaration["parameters"]["required"] == ["on"]
    functions: list[Any] = [undocumented, unhinted, of_bytes, any_number, without_default, misspelt, Room.set_lamp]
    return [message(lambda each=each: tool(each)) for each in functions] + [message(lambda: Executor([len]))]  # type: ignore[list-item]


def refuses_options() -> Any:
    def message(**options: Any) -> str:
        try:
            Executor(**options)
        except (TypeError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
        return ""

    return [message(tools={}, concurrency=0), message(tools={"sing": "la"}), message(tools={"sing": print})]


async def main(url: str, form: str) -> None:
    results: dict[str, Any] = {"refuses_options": refuses_options(), "refuses_functions": refuses_functions()}
    async with connect(url, form=form) as client:
        await client.configure(engine="mock")
        for scenario in [
            answers_with_the_result, runs_in_parallel, runs_at_most_some, fails_without_a_crash, returns_all_kinds,
            asks_hooks, asks_for_confirmation, stops_on_a_block, throws_on_failure,
            brings_late_results_with_the_next_message, cancels_tools, brings_results_with_the_next_message,
            gives_back_results_of_a_refused_message, brings_long_results_one_after_the_other,
            forgets_results_with_the_dialog, submits_by_hand, sets_the_pace, appends_to_the_dialog,
            lets_people_take_part,
            keeps_the_arguments_of_the_model, holds_up_no_later_node, cancels_the_turn_in_a_hook,
            runs_tools_of_turns_that_nobody_reads, is_read_twice, cancels_only_its_own_turn, tells_of_failed_turns,
            logs_errors, runs_tools_that_are_defined_once,
        ]:  # fmt: skip
            results[scenario.__name__] = await asyncio.wait_for(scenario(client), 60)
        results["pending"] = len(client._pending)
    results["ends_tools_when_the_connection_ends"] = await ends_tools_when_the_connection_ends(url, form)
    print(json.dumps(results))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
