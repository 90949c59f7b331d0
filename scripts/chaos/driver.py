"""Runs the Python client for drivers.mjs: requests are lines of standard input, answers and frames lines of standard output.

Usage: driver.py URL CODEC
"""

import asyncio
import base64
import json
import sys

import turngraph


def emit(event, **fields):
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


class RecordedSocket:
    """A connection that emits its messages."""

    count = 0

    def __init__(self, socket):
        self._socket = socket
        self._number = RecordedSocket.count
        RecordedSocket.count += 1
        emit("connected")

    def _emit(self, event, data):
        data = data.encode() if isinstance(data, str) else data
        emit(event, connection=self._number, data=base64.b64encode(data).decode())

    async def send(self, data):
        self._emit("sent", data)
        await self._socket.send(data)

    async def recv(self):
        data = await self._socket.recv()
        self._emit("received", data)
        return data

    async def __aiter__(self):
        async for data in self._socket:
            self._emit("received", data)
            yield data

    def __getattr__(self, name):
        return getattr(self._socket, name)


def record_connections():
    connect = turngraph.websockets.connect

    async def connect_recorded(*arguments, **options):
        return RecordedSocket(await connect(*arguments, **options))

    turngraph.websockets.connect = connect_recorded


async def answer(client, id, name, fields):
    text = ""

    def on_frame(body, message):
        nonlocal text
        if body == "answerText":
            text += message.get("text", "")
            emit("text", id=id, text=text)

    try:
        final = await client.request(name, fields, timeout=None, on_frame=on_frame)
        emit("answer", id=id, answer={**final, "text": text})
    except turngraph.TurngraphError as error:
        emit("error", id=id, error={"code": error.code, "name": error.name, "message": error.message})


async def main(url, codec):
    record_connections()
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=2**24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with turngraph.connect(url, form=codec) as client:
        emit("answer", id=0, answer={})
        tasks = set()
        async for line in lines:
            request = json.loads(line)
            # Tasks start in the order of their creation, so requests are sent in the order of the lines.
            task = asyncio.create_task(answer(client, **request))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


asyncio.run(main(*sys.argv[1:]))
