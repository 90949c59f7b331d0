"""The program with which the conformance kit checks turngraph.py; docs/contribute/conformance.md describes its commands and events. It
also takes those of test/e2e/clients/scenarios.json.

    npx turngraph conformance --client "python3 examples/python/conform.py"
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from turngraph import Agent, AnswerField, Call, Client, ConnectionDropped, Text, ToolResult, TurngraphError, reconnect_delays

FORMS = {"turngraph.v1.json": "json", "turngraph.v1.proto": "proto"}

# After these close codes, and after 1002, another connection would end likewise.
FINAL_CLOSE_CODES = {1002, 4401, 4406, 4409}


def write(event: str, command: int | None = None, **members: Any) -> None:
    head = {"event": event} if command is None else {"id": command, "event": event}
    sys.stdout.write(json.dumps({**head, **members}) + "\n")
    sys.stdout.flush()


def tools_of(command: dict[str, Any]) -> dict[str, Callable[..., Any]] | None:
    """The functions that a command describes."""

    def tool(returns: Any = None, fails: str | None = None) -> Callable[..., Any]:
        def run(**_: Any) -> Any:
            if fails is not None:
                raise LookupError(fails)
            return returns

        return run

    return {name: tool(**behaviour) for name, behaviour in command["tools"].items()} if "tools" in command else None


class Unusable(Exception):
    """A command that this program cannot carry out."""


@dataclass
class Conversation:
    """An agent, and what creates it again in another session."""

    agent: Agent
    graph: Any
    dialog: Any = None


class Program:
    def __init__(self, url: str, form: str) -> None:
        self._url = url
        self._form = form
        self._client: Client | None = None
        self._conversations: dict[str, Conversation] = {}
        self._names: Iterator[int] = iter(range(1, sys.maxsize))
        self._token: str | None = None
        self._idle_timeout = 300.0
        self._restoring: asyncio.Task[None] | None = None

    async def take(self, command: dict[str, Any]) -> None:
        number = command.get("id", 0)
        try:
            action = getattr(self, f"do_{command.get('do')}", None)
            if action is None:
                raise Unusable(f"there is no command {command.get('do')}")
            await action(number, command)
        except TurngraphError as error:
            write("error", number, code=error.code, message=error.message)
        except Exception as error:
            write("error", number, code=0, message=str(error))

    async def do_connect(self, number: int, command: dict[str, Any]) -> None:
        self._conversations.clear()
        self._token = command.get("token")
        self._idle_timeout = command.get("idle_ms", 300_000) / 1000
        self._client = await self._open()
        write("connected", number, session=self._client.session_id)

    async def do_create_agent(self, number: int, command: dict[str, Any]) -> None:
        graph, dialog = command["graph"], command.get("dialog")
        name = str(next(self._names))
        agent = await self._connected().create_agent(graph=graph, history=dialog)
        self._conversations[name] = Conversation(agent, graph, dialog)
        write("agent", number, agent=name, warnings=agent.warnings)

    async def do_send(self, number: int, command: dict[str, Any]) -> None:
        conversation = self._conversation(command)
        turn = conversation.agent.send(command["text"], tools=tools_of(command))
        async for event in turn:
            if isinstance(event, Text):
                write("text", number, text=event.text)
            elif isinstance(event, AnswerField):
                write("field", number, name=event.name, value=event.value)
            elif isinstance(event, Call):
                write("call", number, call=event.call_id, name=event.tool_name, arguments=event.arguments)
        result = await turn
        with contextlib.suppress(TurngraphError):
            conversation.dialog = await conversation.agent.export_dialog()
        write("complete", number, text=result.text, status=result.status, reason=result.stop_reason, warnings=result.warnings)

    async def do_export(self, number: int, command: dict[str, Any]) -> None:
        write("dialog", number, dialog=await self._conversation(command).agent.export_dialog())

    async def do_change(self, number: int, command: dict[str, Any]) -> None:
        await self._conversation(command).agent.change_params(command["node"], command["params"])
        write("ok", number)

    async def do_destroy(self, number: int, command: dict[str, Any]) -> None:
        await self._conversation(command).agent.destroy()
        write("ok", number)

    async def do_report_frame(self, number: int, command: dict[str, Any]) -> None:
        self._connected().report_frame(command["ms"], command["target_ms"])
        write("ok", number)

    async def do_request(self, number: int, command: dict[str, Any]) -> None:
        write("answer", number, body=await self._connected().request(command["name"], command["body"]))

    async def do_results(self, number: int, command: dict[str, Any]) -> None:
        results = {result["call"]: ToolResult(result["content"], result["ok"]) for result in command["results"]}
        await self._conversation(command).agent.submit_tool_results(results)
        write("ok", number)

    async def do_cancel(self, number: int, command: dict[str, Any]) -> None:
        await self._conversation(command).agent.cancel()
        write("ok", number)

    async def do_close(self, number: int, _: dict[str, Any]) -> None:
        await self.close()
        write("closed", number)
        sys.stdout.flush()
        os._exit(0)

    async def close(self) -> None:
        if self._restoring:
            self._restoring.cancel()
        if self._client:
            await self._client.close()

    def _connected(self) -> Client:
        if self._client is None:
            raise ConnectionDropped("there is no connection")
        return self._client

    def _conversation(self, command: dict[str, Any]) -> Conversation:
        self._connected()
        if command["agent"] not in self._conversations:
            raise Unusable(f"there is no agent {command['agent']}")
        return self._conversations[command["agent"]]

    async def _open(self) -> Client:
        # The client resumes its session by itself; what follows a session that is lost is up to the program.
        return await Client.open(
            self._url,
            form=self._form,
            token=self._token,
            idle_timeout=self._idle_timeout,
            on_resumed=lambda: write("resumed"),
            on_lost=self._lost,
        )

    def _lost(self, error: ConnectionDropped) -> None:
        if self._restoring and not self._restoring.done():
            return  # the connection on which the agents were being created
        if error.close_code in FINAL_CLOSE_CODES:
            write("lost")
        else:
            self._restoring = asyncio.create_task(self._restore())

    async def _restore(self) -> None:
        for delay in reconnect_delays():
            await asyncio.sleep(delay)
            try:
                client = await self._open()
                for conversation in self._conversations.values():
                    graph, dialog = conversation.graph, conversation.dialog
                    conversation.agent = await client.create_agent(graph=graph, history=dialog or None)
            except TurngraphError as error:
                if error.code in {1001, 1002, 2001}:
                    continue
                print(f"the agents cannot be created again: {error}", file=sys.stderr)
                write("lost")
                return
            self._client = client
            write("restarted")
            return


def read_lines(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str]) -> None:
    for line in sys.stdin:
        loop.call_soon_threadsafe(lines.put_nowait, line)
    loop.call_soon_threadsafe(lines.put_nowait, "")


async def main(url: str, form: str) -> None:
    program = Program(url, form)
    lines: asyncio.Queue[str] = asyncio.Queue()
    # asyncio cannot read the standard input of a Windows program.
    threading.Thread(target=read_lines, args=(asyncio.get_running_loop(), lines), daemon=True).start()
    tasks: set[asyncio.Task[None]] = set()
    while line := await lines.get():
        task = asyncio.create_task(program.take(json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await program.close()


if __name__ == "__main__":
    chosen = FORMS.get(os.environ["TURNGRAPH_CODEC"])
    if chosen is None:
        sys.exit(77)  # not supported
    if chosen == "proto":
        try:
            import wire_pb2  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
        except ImportError:
            sys.exit(77)
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    asyncio.run(main(os.environ["TURNGRAPH_URL"], chosen))
