"""How the Python client reconnects, against a server of this file that ends connections; prints the results as JSON.

The frames are JSON. Each scenario is a script with one function per connection of the client.
"""

import asyncio
import itertools
import json

import websockets
from turngraph import ConnectionDropped, TurngraphError, connect, reconnect_delays


class Connection:
    """The server's end of a connection. `requests` are the texts of the requests that it has read."""

    def __init__(self, socket):
        self.socket = socket
        self.requests = []
        self.close_code = None

    async def read(self):
        self.requests.append(await self.socket.recv())
        return json.loads(self.requests[-1])

    async def send(self, request_id, seq, **body):
        await self.socket.send(json.dumps({"requestId": request_id, "seq": seq, **body}))

    async def resume(self, received):
        """Reads resumeSession, and takes the session over with a number of received requests. Returns its fields."""
        request = await self.read()
        await self.send(request["requestId"], 0, resumeSession={"replayed": 0, "requestsReceived": received})
        return request["resumeSession"]

    def cut(self):
        self.socket.transport.abort()


class Server:
    """Greets each connection, and then runs the next function of the script. Later connections are cut."""

    def __init__(self, *script):
        self.script = script
        self.connections = []

    async def __aenter__(self):
        self._server = await websockets.serve(self._accept, "127.0.0.1", 0, subprotocols=["turngraph.v1.json"])
        self.url = "ws://127.0.0.1:%d" % self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        await self._server.wait_closed()

    async def _accept(self, socket):
        connection = Connection(socket)
        number = len(self.connections)
        self.connections.append(connection)
        if number >= len(self.script):
            return connection.cut()
        ready = {"protocolVersion": 1, "sessionId": f"s{number}", "resumeToken": f"t{number}", "serverVersion": "1"}
        try:
            await connection.send(0, 0, sessionReady=ready)
            await self.script[number](connection)
            await socket.wait_closed()
        except websockets.ConnectionClosed:
            pass
        connection.close_code = socket.close_code


class Program:
    """What a program is told of its connection."""

    def __init__(self):
        self.told = []

    @property
    def options(self):
        return {
            "on_reconnecting": lambda error: self.told.append(["reconnecting", error.close_code]),
            "on_resumed": lambda: self.told.append(["resumed"]),
            "on_lost": lambda error: self.told.append(["lost", error.close_code, error.message]),
        }


async def failure(awaitable):
    try:
        await awaitable
    except TurngraphError as error:
        return [type(error).__name__, error.code, error.message]
    return None


async def resends_what_was_not_received():
    async def first(connection):
        for _ in range(3):
            request = await connection.read()
        await connection.send(1, 1, ack={})
        connection.cut()

    async def second(connection):
        resume.append(await connection.resume(2))
        request = await connection.read()
        await connection.send(2, 2, ack={})
        await connection.send(request["requestId"], 3, ack={})
        await connection.read()
        await connection.send(4, 4, ack={})

    resume, program = [], Program()
    async with Server(first, second) as server, connect(server.url, **program.options) as client:
        texts = ["a", "b \u00e9\U0001f98a", "c"]
        await asyncio.gather(*(client.request("unloadModel", {"modelName": text}) for text in texts))
        await client.request("unloadModel", {"modelName": "later"})
    before, after = (connection.requests for connection in server.connections)
    return {
        "resume": resume,
        "session": client.session_id,
        "same": after[1] == before[2],
        "numbers": [[json.loads(text)["requestId"] for text in requests] for requests in (before, after)],
        "told": program.told,
    }


async def drops_what_it_has_received():
    def text(piece, **more):
        return {"agentId": 5, "turnId": 1, "nodeName": "answer", "text": piece, "isDelta": True, **more}

    async def first(connection):
        await connection.read()
        await connection.send(1, 1, createAgent={"agentId": 5, "warnings": []})
        await connection.read()
        await connection.send(2, 2, answerText=text("one "))
        await connection.send(2, 3, answerText=text("two "))
        connection.socket.transport.write(b"\x81\x7e\x00")  # half a header of a frame
        await asyncio.sleep(0)
        connection.cut()

    async def second(connection):
        resume.append((await connection.resume(2))["lastSeq"])
        await connection.send(2, 3, answerText=text("two "))
        await connection.send(2, 4, answerText=text("three"))
        await connection.send(2, 5, turnComplete={"agentId": 5, "turnId": 1, "status": "SUCCESS"})

    resume = []
    async with Server(first, second) as server, connect(server.url) as client:
        agent = await client.create_agent(graph={})
        return {"text": (await agent.send("count")).text, "resume": resume}


async def tries_again_when_the_resume_is_cut():
    async def first(connection):
        await connection.read()
        connection.cut()

    async def cut_before_the_answer(connection):
        await connection.read()
        connection.cut()

    async def cut_after_the_answer(connection):
        await connection.resume(1)
        connection.cut()

    async def last(connection):
        await connection.resume(1)
        await connection.send(1, 1, ack={})

    program = Program()
    script = [first, cut_before_the_answer, cut_after_the_answer, last]
    async with Server(*script) as server, connect(server.url, **program.options) as client:
        await client.request("unloadModel", {"modelName": "a"})
        return {"connections": len(server.connections), "told": program.told}


async def lose(first, second=None, **options):
    """What a pending and a later request raise, and what the program is told, for a session that is lost."""
    program = Program()
    async with Server(*[part for part in (first, second) if part]) as server:
        async with connect(server.url, **program.options, **options) as client:
            pending = await failure(client.request("unloadModel", {"modelName": "a"}))
            later = await failure(client.request("unloadModel", {"modelName": "b"}))
    return {
        "pending": pending,
        "same": pending == later,
        "told": program.told,
        "codes": [connection.close_code for connection in server.connections],
    }


async def cut(connection):
    await connection.read()
    connection.cut()


async def loses_sessions():
    async def leave_out(connection):
        await connection.read()
        await connection.send(9, 1, ack={})
        await connection.send(1, 3, ack={})

    def answer(code, name, close_code=None):
        async def refuse(connection):
            request = await connection.read()
            await connection.send(request["requestId"], 0, error={"code": code, "name": name, "message": "no such session"})
            if close_code:
                await connection.socket.close(close_code)

        return refuse

    async def receive_too_many(connection):
        await connection.resume(7)

    return {
        "gap": await lose(leave_out),
        "ended": await lose(cut, answer(2003, "SESSION_NOT_RESUMABLE")),
        "token": await lose(cut, answer(2004, "UNAUTHORIZED", 4401)),
        "count": await lose(cut, receive_too_many),
        "time": await lose(cut, reconnect_timeout=0.6),
        "off": await lose(cut, reconnect_timeout=0),
    }


async def does_not_reconnect_after():
    def close(code):
        async def close_with(connection):
            await connection.read()
            await connection.socket.close(code)

        return close_with

    return {code: len((await lose(close(code)))["codes"]) for code in (1001, 1009, 4401, 4406, 4409, 4429)}


async def reconnects_after_a_clean_close():
    async def first(connection):
        await connection.read()
        await connection.socket.close(1000)

    async def second(connection):
        await connection.resume(0)
        await connection.read()
        await connection.send(1, 1, ack={})

    async with Server(first, second) as server, connect(server.url) as client:
        await client.request("unloadModel", {"modelName": "a"})
        return [len(connection.requests) for connection in server.connections]


async def destroys_its_agents_first():
    async def serve(connection):
        for number, agent_id in enumerate((5, 6, 7), 1):
            await connection.read()
            await connection.send(number, number, createAgent={"agentId": agent_id, "warnings": []})
        await connection.read()
        await connection.send(4, 4, ack={})
        while True:
            await connection.read()

    program = Program()
    async with Server(serve) as server:
        async with connect(server.url, **program.options) as client:
            agents = [await client.create_agent(graph={}) for _ in range(3)]
            await agents[1].destroy()
        await asyncio.sleep(0)
    requests = [json.loads(text) for text in server.connections[0].requests[4:]]
    return {
        "requests": [request.get("destroyAgent", request) for request in requests],
        "code": server.connections[0].close_code,
        "told": program.told,
    }


async def closes_while_it_reconnects():
    program = Program()
    async with Server(cut) as server:
        client_ended = asyncio.Event()
        options = {**program.options, "on_reconnecting": lambda _: client_ended.set()}
        async with connect(server.url, **options) as client:
            pending = asyncio.create_task(failure(client.request("unloadModel", {"modelName": "a"})))
            await client_ended.wait()
        return {"pending": await pending, "told": program.told, "connections": len(server.connections)}


async def survives_an_error_of_a_callback():
    async def second(connection):
        await connection.resume(1)
        await connection.send(1, 1, ack={})

    logged = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(str(context["exception"])))

    def raise_error(_):
        raise ValueError("of the program")

    async with Server(cut, second) as server, connect(server.url, on_reconnecting=raise_error) as client:
        answer = await client.request("unloadModel", {"modelName": "a"})
    return {"answer": answer, "logged": logged}


def waits_longer_each_time():
    delays = [list(itertools.islice(reconnect_delays(), 8)) for _ in range(50)]
    limits = [0.25, 0.5, 1, 2, 4, 5, 5, 5]
    within = all(limit / 2 <= delay <= limit for run in delays for delay, limit in zip(run, limits))
    return {"within": within, "different": len({run[0] for run in delays}) > 1}


async def main():
    results = {"waits_longer_each_time": waits_longer_each_time()}
    for scenario in [
        resends_what_was_not_received, drops_what_it_has_received, tries_again_when_the_resume_is_cut, loses_sessions,
        does_not_reconnect_after, reconnects_after_a_clean_close, destroys_its_agents_first, closes_while_it_reconnects,
        survives_an_error_of_a_callback,
    ]:  # fmt: skip
        results[scenario.__name__] = await asyncio.wait_for(scenario(), 30)
    print(json.dumps(results))


asyncio.run(main())
