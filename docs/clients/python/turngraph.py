"""An asyncio client for turngraph servers: one file, to be copied into a project and changed.

It needs Python 3.10 or later and the websockets library (Debian: python3-websockets). Binary frames also need protobuf
(Debian: python3-protobuf) and the module that protoc generates from wire.proto; see README.md.

    async with connect("ws://127.0.0.1:9100") as client:
        agent = await client.create_agent(graph_name="lamp-switch")
        async for event in agent.send("Please turn on the porch light."):
            print(event)

When the connection ends unexpectedly, the client connects again by itself and resumes its session. The fields are those of proto/PROTOCOL.md, which explains each of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import re
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypeVar, Union

import websockets

# ---------------------------------------------------------------- errors


class TurngraphError(Exception):
    """A request that failed, with the code and name of PROTOCOL.md's table, and a sentence."""

    def __init__(self, code: int, name: str, message: str, detail: str = "") -> None:
        super().__init__(f"{code} {name}: {message}")
        self.code = code
        self.name = name
        self.message = message
        self.detail = detail

    @property
    def faults(self) -> list[dict[str, str]]:
        """All faults of a refused graph, each with `code`, `pointer` and `message`; else empty."""
        return json.loads(self.detail) if self.detail.startswith("[") else []


class ConnectionFailed(TurngraphError):
    """Connecting failed: no server, a wrong token, too many clients."""

    def __init__(self, message: str) -> None:
        super().__init__(1001, "CONNECTION_FAILED", message)


class ConnectionDropped(TurngraphError):
    """The session has ended, or its connection has and is being replaced; `close_code` is one of PROTOCOL.md."""

    def __init__(self, message: str, close_code: int = 1006) -> None:
        super().__init__(1002, "CONNECTION_DROPPED", message)
        self.close_code = close_code


class TimedOut(TurngraphError):
    """No final answer within the timeout."""

    def __init__(self, message: str) -> None:
        super().__init__(1003, "TIMEOUT", message)


class TurnFailed(TurngraphError):
    """A turn that began and failed; `result` is its summary. The agent stays usable."""

    def __init__(self, error: Mapping[str, Any], result: TurnResult) -> None:
        super().__init__(error.get("code", 5005), error.get("name", "INTERNAL"), error.get("message", ""))
        self.result = result


def _to_error(message: Mapping[str, Any]) -> TurngraphError:
    code, name = message.get("code", 5005), message.get("name", "INTERNAL")
    return TurngraphError(code, name, message.get("message", ""), message.get("detail", ""))


def _malformed(message: str) -> TurngraphError:
    return TurngraphError(5001, "MALFORMED_MESSAGE", message)


def _refuse_none(value: Any, path: str) -> None:
    """Both forms read None as an absent field, so a text of None would be sent as an empty one."""
    if value is None:
        raise _malformed(f"{path} must not be None")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_none(inner, f"{path}.{key}")


# ---------------------------------------------------------------- events and results


@dataclass(frozen=True)
class Text:
    """A piece of the answer, to be appended to the previous ones."""

    text: str = ""
    node_name: str = ""
    is_delta: bool = False


@dataclass(frozen=True)
class Issue:
    """A problem of a tool call."""

    code: str = ""
    param: str = ""
    message: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call that was detected. Running it is your decision; check `known` first."""

    tool_name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    call_id: str = ""
    call_index: int = 0
    node_name: str = ""
    known: bool = False
    repaired: bool = False
    consequential: bool = False
    because: str = ""
    issues: Sequence[Issue] = ()


@dataclass(frozen=True)
class NodeEvent:
    """An event of a node: `tool_insight` is always sent, others only by agents with diagnostics."""

    event_type: str = ""
    payload: Any = None
    node_name: str = ""


Event = Union[Text, Call, NodeEvent]


@dataclass(frozen=True)
class Step:
    """A node of the path, and the exit that it took."""

    node_name: str = ""
    exit: str = ""


@dataclass(frozen=True)
class TurnResult:
    """The turn summary: all text, calls and events, and the fields of TurnComplete."""

    text: str = ""
    calls: Sequence[Call] = ()
    events: Sequence[NodeEvent] = ()
    turn_id: int = 0
    status: str = "SUCCESS"
    path: Sequence[Step] = ()
    stop_reason: str = "NONE"
    tokens_prompt: int = 0
    tokens_reused: int = 0
    tokens_generated: int = 0
    interactions_dropped: int = 0
    time_to_first_token_ms: float = 0.0
    duration_ms: float = 0.0
    warnings: Sequence[str] = ()
    debug_info: Any = None


@dataclass(frozen=True)
class Progress:
    """Progress of a model; `phase` is "DOWNLOADING" or "LOADING", fraction 0 to 1, bytes 0 if unknown."""

    model_name: str = ""
    phase: str = "DOWNLOADING"
    fraction: float = 0.0
    bytes_done: float = 0.0
    bytes_total: float = 0.0


@dataclass(frozen=True)
class Model:
    """A model of the server's catalogue."""

    name: str = ""
    status: str = "ABSENT"
    pinned: bool = False
    agents: int = 0
    size_bytes: float = 0
    context_size: int = 0
    tool_call_format: str = ""
    tool_call_format_detected: bool = False
    huggingface_repo: str = ""
    files: Sequence[str] = ()
    license: str = ""
    default_sampling: Mapping[str, float] = field(default_factory=dict)
    description: str = ""
    backend: str = ""
    gpu_layers: int = 0
    threads: int = 0
    slots: int = 0


T = TypeVar("T")


def _camel(name: str) -> str:
    return re.sub("_(.)", lambda letter: letter[1].upper(), name)


def _read(kind: type[T], message: Mapping[str, Any], **more: Any) -> T:
    """A dataclass of a message's fields: absent fields have their defaults, unknown ones are ignored."""
    known = {f.name: message[_camel(f.name)] for f in fields(kind) if _camel(f.name) in message}  # type: ignore[arg-type]
    return kind(**{**known, **more})


# ---------------------------------------------------------------- codecs


class Form(Protocol):
    """A codec of frames. Decoded frames are dictionaries as in the JSON form."""

    subprotocol: str

    def encode(self, frame: Mapping[str, Any]) -> str | bytes: ...

    def decode(self, data: str | bytes) -> dict[str, Any]: ...


class JsonForm:
    subprotocol = "turngraph.v1.json"

    def encode(self, frame: Mapping[str, Any]) -> str:
        try:
            text = json.dumps(frame, ensure_ascii=False)
            text.encode()  # a lone surrogate fails here, in the call of the caller
        except (TypeError, ValueError) as error:
            raise _malformed(str(error)) from error
        return text

    def decode(self, data: str | bytes) -> dict[str, Any]:
        return json.loads(data)


class ProtoForm:
    subprotocol = "turngraph.v1.proto"

    def __init__(self) -> None:
        try:
            import wire_pb2  # type: ignore[import-not-found]
            from google.protobuf import json_format
        except ImportError as error:
            how = "protoc -I proto/turngraph/v1 --python_out=. wire.proto"
            raise ImportError(f"the binary form needs python3-protobuf and wire_pb2.py, made by: {how}") from error
        self._wire = wire_pb2
        self._json = json_format

    def encode(self, frame: Mapping[str, Any]) -> bytes:
        try:
            return self._json.ParseDict(frame, self._wire.ClientFrame()).SerializeToString()
        except self._json.ParseError as error:
            raise _malformed(str(error)) from error

    def decode(self, data: str | bytes) -> dict[str, Any]:
        # Omits fields with default values; _read fills them in.
        return self._json.MessageToDict(self._wire.ServerFrame.FromString(data))


FORMS: dict[str, Callable[[], Form]] = {"json": JsonForm, "proto": ProtoForm}


# ---------------------------------------------------------------- the connection

# The final answer to each request; any other frame with its id comes before that.
FINAL = {
    "configureSession": "configureSession",
    "createAgent": "createAgent",
    "sendMessage": "turnComplete",
    "cancelTurn": "ack",
    "submitToolResults": "ack",
    "changeParams": "ack",
    "exportDialog": "exportDialog",
    "clearDialog": "ack",
    "destroyAgent": "ack",
    "listModels": "listModels",
    "downloadModel": "downloadModel",
    "cancelDownload": "ack",
    "loadModel": "loadModel",
    "unloadModel": "ack",
    "deleteModel": "ack",
    "createStringStorage": "createStringStorage",
    "destroyStringStorage": "ack",
}

Answer = tuple[str, dict[str, Any]]


# ---------------------------------------------------------------- reconnecting

# Close codes after which there is nothing to resume: shutdown, frame too large, unauthorized, subprotocol, taken over by
# another connection, too many requests.
FINAL_CLOSE_CODES = frozenset({1001, 1009, 4401, 4406, 4409, 4429})

# Other frames have their number in the session as id, from 1. This one is not counted.
RESUME_REQUEST_ID = 2**32 - 1

ATTEMPT_TIMEOUT = 10.0
CLOSE_TIMEOUT = 10.0


def reconnect_delays() -> Iterator[float]:
    """Seconds before each attempt: 0.25 doubling to 5, less up to a half at random, so that clients do not come all at once."""
    for attempt in itertools.count():
        yield min(5.0, 0.25 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1.0)


class _ProtocolError(Exception):
    """What the server has sent cannot be right; the message is a clause about the server."""


class _PendingRequest:
    """A pending request: a queue of the frames that answer it."""

    def __init__(self, client: Client, request_id: int, name: str, timeout: float | None) -> None:
        self._client = client
        self._id = request_id
        self._name = name
        self._timeout = timeout
        self._deadline: float | None = None
        self._frames: asyncio.Queue[Answer | TurngraphError] = asyncio.Queue()
        self.set_timeout(timeout)

    def set_timeout(self, seconds: float | None) -> None:
        self._deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds

    def put(self, frame: Answer | TurngraphError) -> None:
        self._frames.put_nowait(frame)

    async def next(self) -> tuple[str, dict[str, Any], bool]:
        """The next frame, and whether it is the final one. Raises errors; after TimedOut more frames may come."""
        frame = await self._wait()
        if isinstance(frame, TurngraphError):
            raise frame
        body, message = frame
        final = body == FINAL[self._name] and message.get("part", 0) == message.get("of", 0)
        if body == "error":
            raise _to_error(message)
        return body, message, final

    def discard(self) -> None:
        self._client._pending.pop(self._id, None)

    async def _wait(self) -> Answer | TurngraphError:
        if self._deadline is None:
            return await self._frames.get()
        left = self._deadline - asyncio.get_running_loop().time()
        try:
            return await asyncio.wait_for(self._frames.get(), max(0, left))
        except asyncio.TimeoutError:
            raise TimedOut(f"{self._name} had no final answer within {self._timeout} s") from None


@contextlib.asynccontextmanager
async def connect(url: str = "ws://127.0.0.1:9100", **options: Any) -> AsyncIterator[Client]:
    """Connects to a server, and closes the client at the end. Takes the options of `Client.open`."""
    client = await Client.open(url, **options)
    try:
        yield client
    finally:
        await client.close()


class Client:
    """A session on a server. Created by `connect`, or by `Client.open` and closed by `close`."""

    def __init__(self, form: Form, timeout: float | None) -> None:
        self._form = form
        self._timeout = timeout
        self._url = ""
        self._socket_options: dict[str, Any] = {}
        self._reconnect_timeout = 0.0
        self._callbacks: dict[str, Callable[..., None] | None] = {}
        self._pending: dict[int, _PendingRequest] = {}
        self._agents: set[int] = set()
        # The frames of this session are numbered from 1. Those that the server may not have received are kept.
        self._last_id = 0
        self._sent = 0
        self._received = 0
        self._unreceived: dict[int, str | bytes] = {}
        self._last_seq = 0
        self._resume_token = ""
        self._server_error: TurngraphError | None = None
        self._ended: ConnectionDropped | None = None
        self._closing = False
        self._is_connected = True
        self._wake_writer = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None
        self.session_id = ""
        self.server_version = ""

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        token: str | None = None,
        form: str = "json",
        timeout: float | None = 30.0,
        reconnect_timeout: float = 60.0,
        on_reconnecting: Callable[[ConnectionDropped], None] | None = None,
        on_resumed: Callable[[], None] | None = None,
        on_lost: Callable[[ConnectionDropped], None] | None = None,
        **socket_options: Any,
    ) -> Client:
        """Connects to a server. Raises ConnectionFailed.

        form: codec of the frames, "json" or "proto". timeout: seconds for requests that neither generate nor load; None =
        no timeout. reconnect_timeout: seconds of attempts to resume after an unexpected end of the connection; 0 = none.
        on_reconnecting: called when such attempts begin; on_resumed: called when one has succeeded; on_lost: called when
        the session has ended, except by `close`. socket_options: passed to websockets.connect.
        """
        codec = FORMS[form]()
        client = cls(codec, timeout)
        client._url = url
        client._socket_options = {"subprotocols": [codec.subprotocol], "compression": None, "max_size": 2**24}
        if token is not None:
            client._socket_options[_headers_option()] = {"Authorization": f"Bearer {token}"}
        client._socket_options.update(socket_options)
        client._reconnect_timeout = reconnect_timeout
        client._callbacks = {"reconnecting": on_reconnecting, "resumed": on_resumed, "lost": on_lost}
        socket, ready = await client._open_socket()
        client.session_id = ready.get("sessionId", "")
        client.server_version = ready.get("serverVersion", "")
        client._resume_token = ready.get("resumeToken", "")
        client._runner = asyncio.create_task(client._run(socket))
        return client

    async def close(self) -> None:
        """Destroys the agents without waiting for it, and closes; pending requests raise ConnectionDropped.

        A closed connection alone would not end the session: the server keeps it for a while, to be resumed.
        """
        assert self._runner is not None
        for agent_id in () if self._ended else sorted(self._agents):
            self._start_request("destroyAgent", {"agentId": agent_id}, None).discard()
        self._closing = True
        self._wake_writer.set()
        if not self._is_connected:
            self._runner.cancel()
        done, _ = await asyncio.wait({self._runner}, timeout=CLOSE_TIMEOUT)
        if not done:  # the peer does not read
            self._runner.cancel()
            await asyncio.wait({self._runner})
        self._end(ConnectionDropped("the client closed the connection", 1000))

    # -- the session

    async def configure(
        self, *, engine: str = "", storage_data_folder: str = "", allow_auto_model_downloading: bool = False
    ) -> None:
        """Sets the engine, the storage folder, and whether `create_agent` may download a model that is not on disk.

        Only before the first agent and the first storage.
        """
        message = {
            "engine": engine,
            "storageDataFolder": storage_data_folder,
            "allowAutoModelDownloading": allow_auto_model_downloading,
        }
        await self.request("configureSession", message)

    async def create_agent(
        self,
        *,
        graph: Mapping[str, Any] | str | None = None,
        graph_name: str | None = None,
        default_model_name: str = "",
        enable_diagnostics: bool = False,
        max_steps_per_turn: int = 0,
        history: Sequence[Mapping[str, Any]] | str = "",
        warm_up: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        timeout: float | None = None,
    ) -> Agent:
        """Compiles a graph and starts a conversation, or continues one that `export_dialog` returned.

        Loading or downloading a model can take long, so there is no timeout unless `timeout` is given; on_progress
        receives its progress.
        """
        message = {
            "defaultModelName": default_model_name,
            "enableDiagnostics": enable_diagnostics,
            "maxStepsPerTurn": max_steps_per_turn,
            "historyJson": _to_json(history),
            "warmUp": warm_up,
        }
        if graph is not None:
            message["graphJson"] = _to_json(graph)
        if graph_name is not None:
            message["graphName"] = graph_name
        answer = await self.request("createAgent", message, timeout=timeout, on_frame=_progress_handler(on_progress))
        return Agent(self, answer.get("agentId", 0), answer.get("warnings", []))

    async def list_models(self) -> list[Model]:
        models: list[Model] = []
        token = ""
        while True:
            page = await self.request("listModels", {"pageToken": token})
            models += [_read(Model, message) for message in page.get("models", [])]
            token = page.get("nextPageToken", "")
            if token == "":
                return models

    async def load_model(
        self, model_name: str, *, on_progress: Callable[[Progress], None] | None = None, timeout: float | None = None
    ) -> None:
        """Loads a model and keeps it in memory until `unload_model`; on_progress receives its progress."""
        message = {"modelName": model_name}
        await self.request("loadModel", message, timeout=timeout, on_frame=_progress_handler(on_progress))

    async def unload_model(self, model_name: str) -> None:
        await self.request("unloadModel", {"modelName": model_name})

    async def download_model(
        self, model_name: str, *, on_progress: Callable[[Progress], None] | None = None, timeout: float | None = None
    ) -> int:
        """Downloads a model to the server's disk, or joins a running download; returns the bytes of its files.

        When the task is cancelled or times out, the download is cancelled for this session; the next one resumes.
        """
        message = {"modelName": model_name}
        try:
            answer = await self.request("downloadModel", message, timeout=timeout, on_frame=_progress_handler(on_progress))
        except BaseException as error:
            # Cancel the download unless the server has already ended it with an error.
            if isinstance(error, TimedOut) or not isinstance(error, TurngraphError):
                with contextlib.suppress(ConnectionDropped):
                    self._start_request("cancelDownload", message, None).discard()
            raise
        return int(answer.get("sizeBytes", 0))

    async def cancel_download(self, model_name: str) -> None:
        """Cancels a download for this session: what waits for it raises 6011 DOWNLOAD_CANCELLED, `create_agent` too."""
        await self.request("cancelDownload", {"modelName": model_name})

    async def delete_model(self, model_name: str) -> None:
        """Deletes the downloaded files of a model; it must not be in use."""
        await self.request("deleteModel", {"modelName": model_name})

    async def create_string_storage(
        self, name: str, strings: Sequence[str] | Mapping[str, str] = (), *, kind: str = "", file_path: str = ""
    ) -> int:
        """Creates a named list or map of strings for the graphs of this session; returns the number of its entries."""
        if isinstance(strings, str):
            raise _malformed("createStringStorage.strings must be a list or a mapping, not a text")
        keys = list(strings) if isinstance(strings, Mapping) else []
        values = list(strings.values()) if isinstance(strings, Mapping) else list(strings)
        kind = kind or ("MAP" if keys else "LIST")
        message = {"name": name, "kind": kind, "strings": values, "keys": keys, "filePath": file_path}
        return (await self.request("createStringStorage", message)).get("entries", 0)

    async def destroy_string_storage(self, name: str) -> None:
        await self.request("destroyStringStorage", {"name": name})

    # -- requests

    async def request(
        self,
        name: str,
        message: Mapping[str, Any],
        *,
        timeout: float | None | str = "default",
        on_frame: Callable[[str, Mapping[str, Any]], None] | None = None,
    ) -> dict[str, Any]:
        """Sends any request, named as in JSON, and returns its final answer in the JSON form.

        on_frame receives every frame of the answer, including the final one. Raises TurngraphError.
        """
        pending = self._start_request(name, message, self._timeout if timeout == "default" else timeout)  # type: ignore[arg-type]
        try:
            while True:
                body, answer, final = await pending.next()
                if on_frame:
                    on_frame(body, answer)
                if final:
                    return answer
        finally:
            pending.discard()

    def _start_request(self, name: str, message: Mapping[str, Any], timeout: float | None) -> _PendingRequest:
        if self._ended:
            raise self._ended
        if name == "resumeSession":
            raise TurngraphError(2003, "SESSION_NOT_RESUMABLE", "a client resumes its own session, and by itself")
        _refuse_none(message, name)
        number = self._last_id + 1
        self._unreceived[number] = self._form.encode({"requestId": number, name: message})
        self._last_id = number
        pending = self._pending[number] = _PendingRequest(self, number, name, timeout)
        if name == "destroyAgent":
            self._agents.discard(message.get("agentId", 0))
        self._wake_writer.set()
        return pending

    # -- the connection

    async def _run(self, socket: Any) -> None:
        """Serves one socket after the other until the session ends."""
        try:
            while True:
                why, can_resume = await self._serve(socket)
                if self._closing or not can_resume:
                    break
                socket = await self._reconnect(why)
                self._is_connected = True
                self._notify("resumed")
        except ConnectionDropped as error:
            why = error
        if not self._closing:
            self._notify("lost", why)
        self._end(why)

    async def _serve(self, socket: Any) -> tuple[ConnectionDropped, bool]:
        """Sends and receives until the socket ends. Returns why it did, and whether the session may be resumed."""
        self._server_error = None
        what = ""
        writer = asyncio.create_task(self._write(socket))
        try:
            async for data in socket:
                self._receive(self._decode(data))
        except websockets.ConnectionClosed:
            pass
        except _ProtocolError as error:  # the rest of the connection is useless, and would be after resuming
            what = f"the server {error}"
            await socket.close(1002)
        finally:
            self._is_connected = False
            writer.cancel()
            await asyncio.wait({writer})
            if socket.close_code is None:  # this task is cancelled
                socket.transport.abort()
        code, reason = socket.close_code or 1006, socket.close_reason or ""
        can_resume = not what and code not in FINAL_CLOSE_CODES
        what = what or f"the connection was closed with {code} {reason}".rstrip()
        return self._dropped(what, code), can_resume

    async def _write(self, socket: Any) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                self._wake_writer.clear()
                while self._sent < self._last_id:
                    self._sent += 1
                    await socket.send(self._unreceived[self._sent])
                if self._closing:
                    return await socket.close()
                await self._wake_writer.wait()

    async def _reconnect(self, why: ConnectionDropped) -> Any:
        """A socket on which the session continues. Raises ConnectionDropped when there is none in time."""
        if self._reconnect_timeout <= 0:
            raise why
        self._notify("reconnecting", why)
        now = asyncio.get_running_loop().time
        deadline = now() + self._reconnect_timeout
        failure = ""
        for delay in reconnect_delays():
            if now() + delay >= deadline:
                break
            await asyncio.sleep(delay)
            try:
                return await asyncio.wait_for(self._resume(why), min(ATTEMPT_TIMEOUT, deadline - now()))
            except asyncio.TimeoutError:
                failure = ": no answer"
            except ConnectionFailed as error:
                failure = f": {error.message}"
        late = f"no new connection within {self._reconnect_timeout:g} s{failure}"
        raise ConnectionDropped(f"{why.message}; {late}", why.close_code)

    async def _resume(self, why: ConnectionDropped) -> Any:
        """A new connection that has taken over the session. Raises ConnectionFailed, or ConnectionDropped for a lost one."""
        socket, _ = await self._open_socket()
        request = {"sessionId": self.session_id, "resumeToken": self._resume_token, "lastSeq": self._last_seq}
        try:
            await socket.send(self._form.encode({"requestId": RESUME_REQUEST_ID, "resumeSession": request}))
            frame = self._decode(await socket.recv())
            self._resumed(frame)
        except websockets.ConnectionClosed:
            code = socket.close_code or 1006
            if code in FINAL_CLOSE_CODES:
                raise ConnectionDropped(f"{why.message}; resuming was answered with {code}", code) from None
            raise ConnectionFailed(f"the connection was closed with {code}") from None
        except (TurngraphError, _ProtocolError) as error:
            await socket.close()
            is_error = isinstance(error, TurngraphError)
            failure = f"the session is lost: {error.message}" if is_error else f"the server {error}"
            raise ConnectionDropped(f"{why.message}; {failure}", why.close_code) from error
        except BaseException:  # out of time
            socket.transport.abort()
            raise
        return socket

    def _resumed(self, frame: dict[str, Any]) -> None:
        if "error" in frame:
            raise _to_error(frame["error"])
        if "resumeSession" not in frame:
            raise _ProtocolError(f"answered resumeSession with {', '.join(frame)}")
        received = frame["resumeSession"].get("requestsReceived", 0)
        if not self._received <= received <= self._sent:
            raise _ProtocolError(f"counts {received} requests, where {self._received} to {self._sent} are possible")
        self._forget(received)
        self._sent = received  # the writer goes on from there

    async def _open_socket(self) -> tuple[Any, dict[str, Any]]:
        """A connection, and its SessionReady. Raises ConnectionFailed."""
        where = self._url.split("?")[0]
        try:
            socket = await websockets.connect(self._url, **self._socket_options)
        except (OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
            raise ConnectionFailed(f"cannot connect to {where}: {error}") from error
        error: TurngraphError | None = None
        try:
            while True:
                frame = self._decode(await socket.recv())
                if "sessionReady" in frame:
                    return socket, frame["sessionReady"]
                if "error" in frame:  # sent before the server closes the connection
                    error = _to_error(frame["error"])
        except websockets.ConnectionClosed:
            what = f"the connection was closed with {socket.close_code or 1006} {socket.close_reason or ''}".rstrip()
            raise ConnectionFailed(f"{what}: {error.message}" if error else what) from error
        except _ProtocolError as failure:
            await socket.close(1002)
            raise ConnectionFailed(f"the server {failure}") from failure
        except BaseException:  # out of time
            socket.transport.abort()
            raise

    def _decode(self, data: str | bytes) -> dict[str, Any]:
        try:
            return self._form.decode(data)
        except Exception as error:
            raise _ProtocolError(f"sent a frame that cannot be read: {error}") from error

    def _receive(self, frame: dict[str, Any]) -> None:
        request_id, seq = frame.pop("requestId", 0), frame.pop("seq", 0)
        if seq > 0:
            if seq <= self._last_seq:  # received before the connection ended
                return
            if seq != self._last_seq + 1:
                raise _ProtocolError(f"sent frame {seq} after frame {self._last_seq}")
            self._last_seq = seq
        # Frames are received in order, so the server has those before an answered one too.
        self._forget(min(request_id, self._sent))
        for body, message in frame.items():
            if body == "createAgent":
                self._agents.add(message.get("agentId", 0))
            if request_id in self._pending:
                self._pending[request_id].put((body, message))
            elif request_id == 0 and body == "error":
                self._server_error = _to_error(message)  # sent before the server closes the connection

    def _forget(self, received: int) -> None:
        while self._received < received:
            self._received += 1
            self._unreceived.pop(self._received, None)

    def _notify(self, event: str, *arguments: Any) -> None:
        # A callback of the event loop, which logs an exception of it.
        if (callback := self._callbacks[event]) is not None:
            asyncio.get_running_loop().call_soon(callback, *arguments)

    def _dropped(self, what: str, close_code: int) -> ConnectionDropped:
        error = ConnectionDropped(f"{what}: {self._server_error.message}" if self._server_error else what, close_code)
        error.__cause__ = self._server_error
        return error

    def _end(self, why: ConnectionDropped) -> None:
        if self._ended:
            return
        self._ended = why
        for pending in list(self._pending.values()):
            pending.put(why)


def _progress_handler(on_progress: Callable[[Progress], None] | None) -> Callable[[str, Mapping[str, Any]], None]:
    def on_frame(body: str, message: Mapping[str, Any]) -> None:
        if body == "modelProgress" and on_progress:
            on_progress(_read(Progress, message))

    return on_frame


def _to_json(document: Any) -> str:
    return document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)


def _headers_option() -> str:
    major = int(websockets.__version__.split(".")[0])
    return "additional_headers" if major >= 14 else "extra_headers"


# ---------------------------------------------------------------- agents and turns


class Agent:
    """One conversation on the server. `async with agent:` destroys it at the end."""

    def __init__(self, client: Client, agent_id: int, warnings: Sequence[str]) -> None:
        self._client = client
        self.id = agent_id
        self.warnings = warnings

    def send(self, text: str, *, variables: Mapping[str, str] | None = None, timeout: float | None = None) -> Turn:
        """Sends a user message and starts a turn immediately; one turn at a time.

        After `timeout` seconds the turn is cancelled, and TimedOut is raised.
        """
        return Turn(self._client, self.id, text, variables or {}, timeout)

    async def cancel(self) -> None:
        """Cancels the running turn, if there is one."""
        await self._client.request("cancelTurn", {"agentId": self.id})

    async def change_params(self, node_name: str, params: Mapping[str, Any]) -> None:
        """Changes live parameters of a node between turns: only the given ones; None restores a default."""
        await self._client.request(
            "changeParams", {"agentId": self.id, "nodeName": node_name, "paramsJson": _to_json(params)}
        )

    async def export_dialog(self) -> list[dict[str, Any]]:
        """The conversation so far, for `create_agent(history=...)`."""
        parts: list[str] = []
        await self._client.request(
            "exportDialog", {"agentId": self.id}, on_frame=lambda _, message: parts.append(message["historyJson"])
        )
        return json.loads("".join(parts))

    async def clear_dialog(self) -> None:
        await self._client.request("clearDialog", {"agentId": self.id})

    async def destroy(self) -> None:
        await self._client.request("destroyAgent", {"agentId": self.id})

    async def __aenter__(self) -> Agent:
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(TurngraphError):
            await self.destroy()


class Turn:
    """A running turn: one user message and its answer.

    Iterate to stream its events, or await its summary; awaiting after iterating returns the same summary. Both raise
    TurnFailed when the turn fails. A cancelled turn is not a failure: its status is "CANCELLED".
    """

    def __init__(
        self, client: Client, agent_id: int, text: str, variables: Mapping[str, str], timeout: float | None
    ) -> None:
        message = {"agentId": agent_id, "text": text, "variables": dict(variables)}
        self._client = client
        self._agent_id = agent_id
        self._request = client._start_request("sendMessage", message, timeout)
        self._texts: list[str] = []
        self._calls: list[Call] = []
        self._events: list[NodeEvent] = []
        self._payload = ""
        self._turn_id = 0
        self._timeout_error: TimedOut | None = None
        self._outcome: TurnResult | TurngraphError | None = None

    async def cancel(self) -> None:
        """Cancels the turn: the iteration ends with the events so far."""
        if self._outcome is None:
            await self._client.request("cancelTurn", {"agentId": self._agent_id, "turnId": self._turn_id})

    def __await__(self) -> Generator[Any, None, TurnResult]:
        return self._finish().__await__()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while self._outcome is None:
            event = await self._next()
            if event is not None:
                yield event
        if isinstance(self._outcome, TurngraphError):
            raise self._outcome

    async def _finish(self) -> TurnResult:
        while self._outcome is None:
            await self._next()
        if isinstance(self._outcome, TurngraphError):
            raise self._outcome
        return self._outcome

    async def _next(self) -> Event | None:
        try:
            body, message, final = await self._request.next()
        except TimedOut as error:
            if self._timeout_error is None:
                self._timeout_error = error
                self._cancel_after_timeout()
                return None
            return self._end(error)
        except TurngraphError as error:
            return self._end(error)
        self._turn_id = message.get("turnId", self._turn_id)
        if not final:
            return self._event(body, message)
        result = self._summarize(message)
        is_cancelled = isinstance(result, TurnResult) and result.status == "CANCELLED"
        return self._end(self._timeout_error if self._timeout_error and is_cancelled else result)

    def _cancel_after_timeout(self) -> None:
        # The agent takes the next message only when the turn has ended, so wait for that, at most 5 s.
        self._request.set_timeout(5.0)
        with contextlib.suppress(ConnectionDropped):
            self._client._start_request("cancelTurn", {"agentId": self._agent_id, "turnId": self._turn_id}, None).discard()

    def _end(self, outcome: TurnResult | TurngraphError) -> None:
        self._request.discard()
        self._outcome = outcome

    def _event(self, body: str, message: dict[str, Any]) -> Event | None:
        if body == "answerText" and message.get("text"):
            self._texts.append(message["text"])
            return _read(Text, message)
        if body == "toolCallNotification":
            issues = [_read(Issue, issue) for issue in message.get("issues", [])]
            arguments = json.loads(message.get("typedArgumentsJson") or "{}")
            self._calls.append(_read(Call, message, arguments=arguments, issues=issues))
            return self._calls[-1]
        if body == "nodeEvent":
            self._payload += message.get("payloadJson", "")
            if message.get("part") == message.get("of"):
                self._events.append(_read(NodeEvent, message, payload=json.loads(self._payload or "null")))
                self._payload = ""
                return self._events[-1]
        return None

    def _summarize(self, message: dict[str, Any]) -> TurnResult | TurngraphError:
        result = _read(
            TurnResult,
            message,
            text="".join(self._texts),
            calls=self._calls,
            events=self._events,
            path=[_read(Step, step) for step in message.get("path", [])],
            debug_info=json.loads(message["debugInfo"]) if message.get("debugInfo") else None,
        )
        return TurnFailed(message.get("error") or {}, result) if result.status == "ERROR" else result
