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
import copy
import difflib
import inspect
import itertools
import json
import logging
import random
import re
import types
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin, overload

import websockets
import websockets.version

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
        return cast("list[dict[str, str]]", json.loads(self.detail)) if self.detail.startswith("[") else []


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


class LimitExceeded(TurngraphError):
    """The server has sent more than the client takes."""

    def __init__(self, message: str) -> None:
        super().__init__(2005, "LIMIT_EXCEEDED", message)


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


def _parse(text: Any, name: str) -> Any:
    """JSON text in a field of the server."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise _malformed(f"the server sent {name} that is no JSON: {error}") from error


def _refuse_none(value: Any, path: str) -> None:
    """Both forms read None as an absent field, so a text of None would be sent as an empty one."""
    if value is None:
        raise _malformed(f"{path} must not be None")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_none(inner, f"{path}.{key}")


def _refuse_long(data: str | bytes, name: str, message: Mapping[str, Any]) -> None:
    size = len(data.encode() if isinstance(data, str) else data)
    if size > MAX_FRAME_BYTES:
        longest = max(message, key=lambda each: len(_to_json(message[each])))
        what = f"{name} has {size} bytes, most of them in {longest}, and a frame may have {MAX_FRAME_BYTES}"
        raise TurngraphError(5003, "FRAME_TOO_LARGE", f"{what}; nothing was sent: send less at a time")


# ---------------------------------------------------------------- events and results


@dataclass(frozen=True)
class Text:
    """A piece of the answer, to be appended to the previous ones."""

    text: str = ""
    node_name: str = ""
    is_delta: bool = False
    # "client": a line of `append_text`, no part of the answer.
    source: str = ""


@dataclass(frozen=True)
class AnswerField:
    """A field of an answer, in addition to its text: a string or a number."""

    name: str = ""
    value: Any = None
    node: str = ""


@dataclass(frozen=True)
class Issue:
    """A problem of a tool call."""

    code: str = ""
    param: str = ""
    message: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call that was detected. Running it is your decision; check `known` first.

    With awaits_result the turn waits for `submit_tool_results`; an `Executor` does that by itself.
    """

    tool_name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    call_id: str = ""
    call_index: int = 0
    turn_id: int = 0
    node_name: str = ""
    known: bool = False
    repaired: bool = False
    consequential: bool = False
    because: str = ""
    issues: Sequence[Issue] = ()
    awaits_result: bool = False
    # How probable it is, 0 to 1; None: the engine does not know it.
    confidence: float | None = None


@dataclass(frozen=True)
class ToolResult:
    """The result of a call: text or a JSON value (None: "ok"), and whether the call succeeded.

    A result of lifespan "DIALOG" is shown to the model in later turns, too. metadata: a JSON value that no model reads; it is in
    the summary of the turn and in saved dialogs. control: `{"mode": "MANUAL"}` hands the agent over to people;
    `{"endTurn": True, "answer": "Bye."}` ends the turn that waits for the result.
    """

    content: Any = None
    ok: bool = True
    lifespan: Literal["TURN", "DIALOG"] = "TURN"
    metadata: Any = None
    control: Mapping[str, Any] | None = None


Outcome = Literal["completed", "failed", "blocked"]


@dataclass(frozen=True)
class ToolRun:
    """A call that an `Executor` has handled; in_turn: the turn took the result, else the next message brings it."""

    call: Call
    result: ToolResult
    outcome: Outcome
    in_turn: bool = False
    # As the model wrote it: `before` may have changed the call, and a tool its arguments.
    _detected: Call | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class NodeEvent:
    """An event of a node: `tool_insight` is always sent, others only by agents with diagnostics."""

    event_type: str = ""
    payload: Any = None
    node_name: str = ""
    mode: str = "AUTO"


Event = Union[Text, AnswerField, Call, NodeEvent]


@dataclass(frozen=True)
class Step:
    """A node of the path, and the exit that it took."""

    node_name: str = ""
    exit: str = ""


@dataclass(frozen=True)
class ModelChoice:
    """The model that nodes with a list of names use, and why."""

    name: str = ""
    reason: str = ""


@dataclass(frozen=True)
class TurnResult:
    """The turn summary: all text, calls, what an `Executor` made of them, events, and the fields of TurnComplete."""

    text: str = ""
    # By name, the fields of its answers in addition to the text.
    fields: Mapping[str, Any] = field(default_factory=dict)
    calls: Sequence[Call] = ()
    tool_runs: Sequence[ToolRun] = ()
    events: Sequence[NodeEvent] = ()
    turn_id: int = 0
    status: str = "SUCCESS"
    path: Sequence[Step] = ()
    stop_reason: str = "NONE"
    tokens_prompt: int = 0
    tokens_reused: int = 0
    tokens_generated: int = 0
    interactions_dropped: int = 0
    interactions_summarised: int = 0
    time_to_first_token_ms: float = 0.0
    duration_ms: float = 0.0
    warnings: Sequence[str] = ()
    debug_info: Any = None
    # Who answers the next message: "AUTO", the graph, or "MANUAL", people.
    mode: str = "AUTO"
    # By call_id, what was given as metadata of results.
    result_metadata: Mapping[str, Any] = field(default_factory=dict)
    model_choices: Sequence[ModelChoice] = ()


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
    weights_bytes: float = 0
    context_bytes: float = 0
    slot_bytes: float = 0
    vram_bytes: float = 0
    prefill_threads: int = 0
    purpose: str = ""
    tokens_per_second: float = 0.0
    choice: str = ""


@dataclass(frozen=True)
class SuggestedModel:
    """A model that fits the machine of the server; the figures are estimates."""

    name: str = ""
    variant: str = ""
    status: str = "ABSENT"
    download_bytes: float = 0
    memory_bytes: float = 0
    tokens_per_second: float = 0
    why: str = ""


@dataclass(frozen=True)
class LeftOutModel:
    name: str = ""
    why: str = ""


@dataclass(frozen=True)
class Suggestions:
    """The models that fit, best first, the others with the reason, and the machine, with the fields of MachineInfo."""

    machine: Mapping[str, Any] = field(default_factory=dict)
    models: Sequence[SuggestedModel] = ()
    left_out: Sequence[LeftOutModel] = ()
    more: int = 0


T = TypeVar("T")


def _read_call(message: Mapping[str, Any]) -> Call:
    issues = [_read(Issue, issue) for issue in message.get("issues", [])]
    return _read(Call, message, arguments=_parse(message.get("typedArgumentsJson") or "{}", "typedArgumentsJson"), issues=issues)


def _camel(name: str) -> str:
    return re.sub("_(.)", lambda letter: letter[1].upper(), name)


def _read(kind: type[T], message: Mapping[str, Any], **more: Any) -> T:
    """A dataclass of a message's fields: absent fields have their defaults, unknown ones are ignored."""
    known = {f.name: message[_camel(f.name)] for f in fields(kind) if _camel(f.name) in message}  # type: ignore[arg-type]
    # The binary form has a number for an enum value of a newer server.
    unknown = [f.name for f in fields(kind) if isinstance(f.default, str) and isinstance(known.get(f.name), int)]  # type: ignore[arg-type]
    for name in unknown:
        del known[name]
    for f in fields(kind):  # type: ignore[arg-type]
        expected = (str,) if isinstance(f.default, str) else (int, float)
        if f.name in known and isinstance(f.default, (str, int, float)) and not isinstance(known[f.name], expected):
            raise _malformed(f"the server sent {_camel(f.name)} of a wrong type: {str(known[f.name])[:100]}")
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
        frame = cast("dict[str, Any]", json.loads(data))
        return {name: value for name, value in frame.items() if value is not None}  # null is the same as omitting


class ProtoForm:
    subprotocol = "turngraph.v1.proto"

    def __init__(self) -> None:
        try:
            import wire_pb2  # type: ignore[import-not-found, unused-ignore]
            from google.protobuf import json_format  # type: ignore[import-untyped, unused-ignore]
        except ImportError as error:
            how = "protoc -I proto/turngraph/v1 --python_out=. wire.proto"
            raise ImportError(f"the binary form needs python3-protobuf and wire_pb2.py, made by: {how}") from error
        self._wire = wire_pb2
        self._json = json_format

    def encode(self, frame: Mapping[str, Any]) -> bytes:
        try:
            return cast(bytes, self._json.ParseDict(dict(frame), self._wire.ClientFrame()).SerializeToString())
        except self._json.ParseError as error:
            raise _malformed(str(error)) from error

    def decode(self, data: str | bytes) -> dict[str, Any]:
        # Omits fields with default values; _read fills them in.
        return cast("dict[str, Any]", self._json.MessageToDict(self._wire.ServerFrame.FromString(data)))


FORMS: dict[str, Callable[[], Form]] = {"json": JsonForm, "proto": ProtoForm}


# ---------------------------------------------------------------- the connection

# The final answer to each request; any other frame with its id comes before that.
FINAL = {
    "configureSession": "configureSession",
    "createAgent": "createAgent",
    "sendMessage": "turnComplete",
    "cancelTurn": "ack",
    "submitToolResults": "ack",
    "appendDialog": "ack",
    "appendText": "ack",
    "setAgentMode": "ack",
    "setVariables": "ack",
    "setPace": "ack",
    "reportFrame": "ack",
    "changeParams": "ack",
    "exportDialog": "exportDialog",
    "clearDialog": "ack",
    "destroyAgent": "ack",
    "listModels": "listModels",
    "suggestModels": "suggestModels",
    "downloadModel": "downloadModel",
    "cancelDownload": "ack",
    "loadModel": "loadModel",
    "unloadModel": "ack",
    "deleteModel": "ack",
    "createStringStorage": "createStringStorage",
    "destroyStringStorage": "ack",
    "searchStorage": "searchStorage",
    "addKnowledge": "addKnowledge",
    "removeKnowledge": "ack",
    "exportStorage": "exportStorage",
}

Answer = tuple[str, dict[str, Any]]


# ---------------------------------------------------------------- reconnecting

# Close codes after which there is nothing to resume: shutdown, invalid traffic, frame too large, unauthorized, subprotocol,
# taken over by another connection, too many requests.
FINAL_CLOSE_CODES = frozenset({1001, 1002, 1009, 4401, 4406, 4409, 4429})

# Other frames have their number in the session as id, from 1. This one is not counted.
RESUME_REQUEST_ID = 2**32 - 1

# The server closes the connection of a longer frame, so none is sent.
MAX_FRAME_BYTES = 1024 * 1024

CLOSE_TIMEOUT = 10.0

# A session is lost that was resumed so often without an answer, each time for less than these seconds.
MAX_IDLE_RESUMES = 12
STABLE_SECONDS = 10.0

# What may take long: such requests, and turns, have a limit for the time between two frames.
SLOW_REQUESTS = frozenset(
    {"createAgent", "sendMessage", "loadModel", "downloadModel", "createStringStorage", "searchStorage"}
)
MAX_PAGES = 256


def reconnect_delays(first: int = 0) -> Iterator[float]:
    """Seconds before each attempt: 0.25 doubling to 5, less up to a half at random, so that clients do not come all at once."""
    for attempt in itertools.count(first):
        yield min(5.0, 0.25 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1.0)


def _address(url: str, resuming: str) -> str:
    if not resuming:
        return url
    parts = urllib.parse.urlsplit(url)
    query = [pair for pair in urllib.parse.parse_qsl(parts.query, keep_blank_values=True) if pair[0] != "session"]
    return urllib.parse.urlunsplit(parts._replace(query=urllib.parse.urlencode([*query, ("session", resuming)])))


class _ProtocolError(Exception):
    """What the server has sent cannot be right; the message is a clause about the server."""


class _EventParts:
    """Joins the parts of events of nodes."""

    def __init__(self) -> None:
        self._payload: list[str] = []

    def add(self, message: Mapping[str, Any]) -> NodeEvent | None:
        self._payload.append(str(message.get("payloadJson", "")))
        if message.get("part") != message.get("of"):
            return None
        payload = _parse("".join(self._payload) or "null", "payloadJson")
        self._payload = []
        return _read(NodeEvent, message, payload=payload)


class _PendingRequest:
    """A pending request: a queue of the frames that answer it."""

    def __init__(self, client: Client, request_id: int, name: str, timeout: float | None) -> None:
        self._client = client
        self._id = request_id
        self._name = name
        self._timeout = timeout
        self._deadline: float | None = None
        self._idle = client._idle_timeout if timeout is None and name in SLOW_REQUESTS else None
        self._last_frame = asyncio.get_running_loop().time()
        self._progress: Any = None
        self._size = 0
        self._frames: asyncio.Queue[Answer | TurngraphError] = asyncio.Queue()
        self.on_frame: Callable[[Answer | TurngraphError], None] | None = None
        self.set_timeout(timeout)

    def set_timeout(self, seconds: float | None) -> None:
        self._deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        if seconds is not None:
            self._idle = None

    def seconds_left(self) -> float | None:
        return None if self._deadline is None else max(0, self._deadline - asyncio.get_running_loop().time())

    def put(self, frame: Answer | TurngraphError, size: int = 0) -> None:
        progress = frame[1] if not isinstance(frame, TurngraphError) and frame[0] == "modelProgress" else None
        if progress is None or progress != self._progress:
            self._last_frame = asyncio.get_running_loop().time()
        self._progress = progress
        self._size += size
        limit = self._client._max_answer_bytes
        if self._size > limit:
            self.discard()
            what = f"the answer to {self._name} has more than {limit} bytes"
            frame = LimitExceeded(f"{what}; ask for less, or raise max_answer_bytes")
        self._frames.put_nowait(frame)
        if self.on_frame:
            self.on_frame(frame)

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
        while self._frames.empty():
            seconds = self.seconds_left()
            if self._idle is not None:
                seconds = max(0, self._last_frame + self._idle - asyncio.get_running_loop().time())
            try:
                return await asyncio.wait_for(self._frames.get(), seconds)
            except asyncio.TimeoutError:
                if self._idle is None or not self._client._is_paused:
                    raise self.timed_out() from None
                self._last_frame = asyncio.get_running_loop().time()
        return self._frames.get_nowait()

    def timed_out(self) -> TimedOut:
        if self._idle is not None:
            return TimedOut(f"{self._name} had nothing new for {self._idle} s; if it may take longer, raise idle_timeout")
        return TimedOut(f"{self._name} had no final answer within {self._timeout} s; if it may take longer, raise timeout")


def connect(url: str = "ws://127.0.0.1:9100", **options: Any) -> Connecting:
    """Connects to a server, with the options of `Client.open`: `async with connect(url) as client:` closes it at the end.

    After `client = await connect(url)` your program calls `client.close()`.
    """
    return Connecting(url, options)


class Connecting:
    """What `connect` returns, for `async with` or `await`."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._url = url
        self._options = options
        self._client: Client | None = None

    def __await__(self) -> Generator[Any, None, Client]:
        return Client.open(self._url, **self._options).__await__()

    async def __aenter__(self) -> Client:
        self._client = await self
        return self._client

    async def __aexit__(self, *_: object) -> None:
        if self._client:
            await self._client.close()


class Client:
    """A session on a server. Created by `connect`, or by `Client.open` and closed by `close`."""

    def __init__(self, form: Form, timeout: float | None) -> None:
        self._form = form
        self._timeout = timeout
        self._connect_timeout = 10.0
        self._idle_timeout: float | None = None
        self._max_frame_bytes = 0
        self._max_answer_bytes = 0
        self._is_paused = False
        self._idle_resumes = 0
        self._url = ""
        self._socket_options: dict[str, Any] = {}
        self._reconnect_timeout = 0.0
        self._callbacks: dict[str, Callable[..., None] | None] = {}
        self._pending: dict[int, _PendingRequest] = {}
        self._agents: set[int] = set()
        self._late_events: dict[int, tuple[_EventParts, Callable[[NodeEvent], None]]] = {}
        # The frames of this session are numbered from 1. Those that the server may not have received are kept.
        self._last_id = 0
        self._sent = 0
        self._received = 0
        self._unreceived: dict[int, str | bytes] = {}
        self._last_seq = 0
        self._resume_token = ""
        self._server_error: TurngraphError | None = None
        self._ended: ConnectionDropped | None = None
        self._interruption: ConnectionDropped | None = None
        self._closing = False
        self._is_connected = True
        self._wake_writer = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None
        self._frame_times: list[float] = []
        self._frames_since = 0.0
        self._report: asyncio.Future[Any] | None = None
        self.session_id = ""
        self.server_version = ""

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        token: str | None = None,
        form: str = "json",
        timeout: float | None = 60.0,
        connect_timeout: float = 10.0,
        idle_timeout: float | None = 300.0,
        max_frame_bytes: int = 2**20,
        max_answer_bytes: int = 2**24,
        reconnect_timeout: float = 60.0,
        on_reconnecting: Callable[[ConnectionDropped], None] | None = None,
        on_resumed: Callable[[], None] | None = None,
        on_lost: Callable[[ConnectionDropped], None] | None = None,
        **socket_options: Any,
    ) -> Client:
        """Connects to a server. Raises ConnectionFailed.

        form: codec of the frames, "json" or "proto". timeout: seconds for requests that neither generate nor load; None =
        no timeout. connect_timeout: seconds to connect. idle_timeout: seconds without a new frame for turns and requests that
        load or search, unless they have a timeout of their own; None = no timeout. It has to be more than the server's
        --turn-timeout and the results_timeout_ms of a graph. max_frame_bytes: a larger frame ends the connection.
        max_answer_bytes: of all frames of an answer. reconnect_timeout: seconds of attempts to resume after an unexpected end of the connection; 0 = none.
        on_reconnecting: called when such attempts begin; on_resumed: called when one has succeeded; on_lost: called when
        the session has ended, except by `close`. socket_options: passed to websockets.connect.
        """
        codec = FORMS[form]()
        client = cls(codec, timeout)
        client._url = url
        client._socket_options = {
            "subprotocols": [codec.subprotocol],
            "compression": None,
            "max_size": max_frame_bytes,
            "close_timeout": 1,
        }
        if token is not None:
            client._socket_options[_headers_option()] = {"Authorization": f"Bearer {token}"}
        client._socket_options.update(socket_options)
        client._connect_timeout = connect_timeout
        client._idle_timeout = idle_timeout
        client._max_frame_bytes = max_frame_bytes
        client._max_answer_bytes = max_answer_bytes
        client._reconnect_timeout = reconnect_timeout
        client._callbacks = {"reconnecting": on_reconnecting, "resumed": on_resumed, "lost": on_lost}
        try:
            socket, ready = await asyncio.wait_for(client._open_socket(), connect_timeout)
        except asyncio.TimeoutError:
            what = f"cannot connect to {url.split('?')[0]}: no answer within {connect_timeout} s"
            raise ConnectionFailed(f"{what}; if it may take longer, raise connect_timeout") from None
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
        why, closed = self._interruption, "the client closed the connection"
        self._end(ConnectionDropped(f"{why.message}; {closed}", why.close_code) if why else ConnectionDropped(closed, 1000))

    # -- the session

    async def configure(
        self,
        *,
        engine: str = "",
        storage_data_folder: str = "",
        allow_auto_model_downloading: bool = False,
        memory_key: str = "",
    ) -> None:
        """Sets the engine, the storage folder, and whether `create_agent` may download a model that is not on disk.

        Only before the first agent and the first storage. memory_key: a secret, by which storages with `persist` are kept.
        """
        message = {
            "engine": engine,
            "storageDataFolder": storage_data_folder,
            "allowAutoModelDownloading": allow_auto_model_downloading,
            "memoryKey": memory_key,
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
        history: Sequence[Mapping[str, Any]] | str | None = None,
        warm_up: bool = False,
        tools: Executor | Sequence[DefinedTool] = (),
        on_progress: Callable[[Progress], None] | None = None,
        on_event: Callable[[NodeEvent], None] | None = None,
        timeout: float | None = None,
    ) -> Agent:
        """Compiles a graph and starts a conversation, or continues one that `export_dialog` returned.

        tools: those of `@tool` that the graph names; turns run their calls, unless `send` is given others.
        Loading or downloading a model can take long, so only the time without progress is limited unless `timeout` is
        given; on_progress receives its progress. on_event receives the events of nodes that come after their turn.
        """
        if history == "":
            raise ValueError('history is empty: leave it out, or give "[]"')
        message = {
            "defaultModelName": default_model_name,
            "enableDiagnostics": enable_diagnostics,
            "maxStepsPerTurn": max_steps_per_turn,
            "historyJson": "" if history is None else _to_json(history),
            "warmUp": warm_up,
        }
        if graph is not None:
            message["graphJson"] = _to_json(graph)
        if graph_name is not None:
            message["graphName"] = graph_name
        executor = tools if isinstance(tools, Executor) else Executor(tools) if tools else None
        if executor and executor.declarations:
            message["toolsJson"] = _to_json(executor.declarations)
        answer = await self.request("createAgent", message, timeout=timeout, on_frame=_progress_handler(on_progress))
        agent_id = answer.get("agentId", 0)
        if on_event:
            self._late_events[agent_id] = _EventParts(), on_event
        return Agent(self, agent_id, answer.get("warnings", []), executor)

    async def set_pace(self, *, paused: bool = False, max_tokens_per_second: int = 0, max_threads: int = 0) -> None:
        """Replaces the pace of the session, which all its turns share; 0 = no limit. Also for turns that are running."""
        message = {"paused": paused, "maxTokensPerSecond": max_tokens_per_second, "maxThreads": max_threads}
        await self.request("setPace", message)
        self._is_paused = paused  # idle_timeout does not count meanwhile

    def report_frame(self, ms: float, target_ms: float) -> None:
        """Tells how long a frame of the game took and may take: call it after each frame, in the thread of the event loop.

        Once a second the server gets the 95th percentile, and takes less of the machine while that is late.
        """
        now = asyncio.get_running_loop().time()
        if not self._frame_times:
            self._frames_since = now
        self._frame_times.append(ms)
        if now - self._frames_since < 1:
            return
        slowest = sorted(self._frame_times)[int((len(self._frame_times) - 1) * 0.95)]
        self._frame_times.clear()
        if self._report and not self._report.done():
            return  # without a connection it would wait, and be old
        self._report = asyncio.ensure_future(self.request("reportFrame", {"ms": slowest, "targetMs": target_ms}))
        self._report.add_done_callback(lambda report: report.cancelled() or report.exception())

    async def list_models(self) -> list[Model]:
        models: list[Model] = []
        token = ""
        tokens: set[str] = set()
        while len(tokens) < MAX_PAGES:
            page = await self.request("listModels", {"pageToken": token})
            models += [_read(Model, message) for message in page.get("models", [])]
            token = page.get("nextPageToken", "")
            if token == "":
                return models
            if token in tokens:
                raise _malformed(f"the server's list of models has the page {token!r} twice")
            tokens.add(token)
        raise LimitExceeded(f"the server's list of models has more than {MAX_PAGES} pages; the server does not end it")

    async def suggest_models(
        self, *, purpose: str = "", min_tokens_per_second: float = 0, max_bytes: float = 0, languages: Sequence[str] = ()
    ) -> Suggestions:
        """Which models of the catalogue fit the machine of the server; 0 = no limit."""
        limits = {"minTokensPerSecond": min_tokens_per_second, "maxBytes": max_bytes}
        answer = await self.request("suggestModels", {"purpose": purpose, **limits, "languages": list(languages)})
        models = [_read(SuggestedModel, message) for message in answer.get("models", [])]
        left_out = [_read(LeftOutModel, message) for message in answer.get("leftOut", [])]
        return _read(Suggestions, answer, machine=answer.get("machine") or {}, models=models, left_out=left_out)

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
            if isinstance(error, (TimedOut, LimitExceeded)) or not isinstance(error, TurngraphError):
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
        self,
        name: str,
        strings: Sequence[str] | Mapping[str, str] = (),
        *,
        kind: str = "",
        file_path: str = "",
        metadata_json: Sequence[str] = (),
        persist: bool = False,
    ) -> int:
        """Creates a named list or map of strings for the graphs of this session; returns the number of its entries.

        A KNOWLEDGE takes a mapping of ids to texts; `metadata_json` has the rest of each, as JSON. persist: keeps a
        KNOWLEDGE for later sessions with the same `memory_key`.
        """
        if isinstance(strings, str):
            raise _malformed("createStringStorage.strings must be a list or a mapping, not a text")
        keys = list(strings) if isinstance(strings, Mapping) else []
        values = list(strings.values()) if isinstance(strings, Mapping) else list(strings)
        kind = kind or ("MAP" if keys else "LIST")
        message: dict[str, Any] = {"name": name, "kind": kind, "strings": values, "keys": keys, "filePath": file_path}
        if metadata_json:
            message["metadataJson"] = list(metadata_json)
        if persist:
            message["persist"] = True
        return int((await self.request("createStringStorage", message)).get("entries", 0))

    async def destroy_string_storage(self, name: str) -> None:
        await self.request("destroyStringStorage", {"name": name})

    async def search_storage(
        self,
        name: str,
        query: str,
        *,
        match: str = "",
        top_k: int = 0,
        filter: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """The entries of a storage that fit a query: `id`, `text`, `score` and `metadata` of each, best first.

        `filter` has conditions on the metadata, such as `{"min_level": {"$lte": 12}}`.
        """
        parts: list[str] = []
        message: dict[str, Any] = {"name": name, "query": query, "match": match, "topK": top_k}
        if filter is not None:
            message["filterJson"] = json.dumps(filter)
        await self.request(
            "searchStorage", message, on_frame=lambda _, frame: parts.append(frame.get("hitsJson", ""))
        )
        return cast("list[dict[str, Any]]", _parse("".join(map(str, parts)), "hitsJson"))

    async def add_knowledge(self, storage: str, entries: Sequence[Mapping[str, Any]]) -> list[str]:
        """Adds entries to a KNOWLEDGE storage: each `text`, and as needed `id`, `metadata`, `keys` and `always`. Returns the ids.

        An entry whose id another one has takes its place.
        """
        written = [
            {**{name: value for name, value in entry.items() if name != "metadata"}, "metadataJson": _to_json(entry["metadata"])}
            if "metadata" in entry
            else dict(entry)
            for entry in entries
        ]
        answer = await self.request("addKnowledge", {"storage": storage, "entries": written})
        return [str(id) for id in answer.get("ids", [])]

    async def remove_knowledge(self, storage: str, ids: Sequence[str]) -> None:
        """Removes entries of a KNOWLEDGE storage."""
        await self.request("removeKnowledge", {"storage": storage, "ids": list(ids)})

    async def export_storage(self, storage: str) -> list[dict[str, Any]]:
        """The entries of a KNOWLEDGE storage, as `add_knowledge` takes them."""
        entries: list[dict[str, Any]] = []
        await self.request(
            "exportStorage", {"storage": storage}, on_frame=lambda _, frame: entries.extend(frame.get("entries", []))
        )
        return [
            {
                "id": entry.get("id", ""),
                "text": entry.get("text", ""),
                "metadata": _parse(entry.get("metadataJson") or "{}", "metadataJson"),
                "keys": list(entry.get("keys", [])),
                "always": entry.get("always", False),
            }
            for entry in entries
        ]

    # -- requests

    async def request(
        self,
        name: str,
        message: Mapping[str, Any],
        *,
        timeout: float | None | Literal["default"] = "default",
        on_frame: Callable[[str, Mapping[str, Any]], None] | None = None,
    ) -> dict[str, Any]:
        """Sends any request, named as in JSON, and returns its final answer in the JSON form.

        on_frame receives every frame of the answer, including the final one. Raises TurngraphError.
        """
        if timeout == "default":
            timeout = None if name in SLOW_REQUESTS else self._timeout
        pending = self._start_request(name, message, timeout)
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
        if name not in FINAL:
            hint = "".join(f'; did you mean "{each}"?' for each in difflib.get_close_matches(name, FINAL, 1))
            raise TurngraphError(5002, "UNKNOWN_MESSAGE_TYPE", f"{name} is no message of this protocol{hint}")
        _refuse_none(message, name)
        number = self._last_id + 1
        data = self._form.encode({"requestId": number, name: message})
        _refuse_long(data, name, message)
        self._unreceived[number] = data
        self._last_id = number
        pending = self._pending[number] = _PendingRequest(self, number, name, timeout)
        if name == "destroyAgent":
            self._agents.discard(message.get("agentId", 0))
            self._late_events.pop(message.get("agentId", 0), None)
        self._wake_writer.set()
        return pending

    # -- the connection

    async def _run(self, socket: Any) -> None:
        """Serves one socket after the other until the session ends."""
        try:
            while True:
                began = asyncio.get_running_loop().time()
                why, can_resume = await self._serve(socket)
                if self._closing or not can_resume:
                    break
                if asyncio.get_running_loop().time() - began > STABLE_SECONDS:
                    self._idle_resumes = 0
                if self._idle_resumes >= MAX_IDLE_RESUMES:
                    what = f"{why.message}, as {MAX_IDLE_RESUMES} connections before it"
                    raise ConnectionDropped(what, why.close_code)
                self._idle_resumes += 1
                self._interruption = why
                socket = await self._reconnect(why)
                self._interruption = None
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
                self._receive(self._decode(data), len(data))
        except websockets.ConnectionClosed as error:
            if error.rcvd is None and error.sent is not None and error.sent.code == 1009:
                what = f"the server sent a frame of more than {self._max_frame_bytes} bytes; see max_frame_bytes"
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = f"the server sent a frame with fields of a wrong type: {error}"
            await socket.close(1002)
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
                    await socket.close()
                    return
                await self._wake_writer.wait()

    async def _reconnect(self, why: ConnectionDropped) -> Any:
        """A socket on which the session continues. Raises ConnectionDropped when there is none in time."""
        if self._reconnect_timeout <= 0:
            raise why
        self._notify("reconnecting", why)
        now = asyncio.get_running_loop().time
        deadline = now() + self._reconnect_timeout
        failure = ""
        for delay in reconnect_delays(self._idle_resumes - 1):
            if now() + delay >= deadline:
                break
            await asyncio.sleep(delay)
            try:
                return await asyncio.wait_for(self._resume(why), min(self._connect_timeout, deadline - now()))
            except asyncio.TimeoutError:
                failure = ": no answer"
            except ConnectionFailed as error:
                failure = f": {error.message}"
        late = f"no new connection within {self._reconnect_timeout:g} s{failure}"
        raise ConnectionDropped(f"{why.message}; {late}", why.close_code)

    async def _resume(self, why: ConnectionDropped) -> Any:
        """A new connection that has taken over the session. Raises ConnectionFailed, or ConnectionDropped for a lost one."""
        socket, _ = await self._open_socket(resuming=self.session_id)
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
            lost = f"the session is lost: {error.message}" if isinstance(error, TurngraphError) else ""
            failure = lost or f"the server {error}"
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

    async def _open_socket(self, resuming: str = "") -> tuple[Any, dict[str, Any]]:
        """A connection, and its SessionReady. resuming: the id of a session, by which a load balancer finds its server.
        Raises ConnectionFailed.
        """
        where = self._url.split("?")[0]
        try:
            socket = await websockets.connect(_address(self._url, resuming), **self._socket_options)
        except (OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
            raise ConnectionFailed(f"cannot connect to {where}: {error}") from error
        refusal: TurngraphError | None = None
        try:
            while True:
                frame = self._decode(await socket.recv())
                if isinstance(frame.get("sessionReady"), dict):
                    return socket, frame["sessionReady"]
                if isinstance(frame.get("error"), dict):  # sent before the server closes the connection
                    refusal = _to_error(frame["error"])
        except websockets.ConnectionClosed:
            what = f"the connection was closed with {socket.close_code or 1006} {socket.close_reason or ''}".rstrip()
            raise ConnectionFailed(f"{what}: {refusal.message}" if refusal else what) from refusal
        except _ProtocolError as failure:
            await socket.close(1002)
            raise ConnectionFailed(f"the server {failure}") from failure
        except BaseException:  # out of time
            socket.transport.abort()
            raise

    def _decode(self, data: str | bytes) -> dict[str, Any]:
        try:
            frame = self._form.decode(data)
            for number in (frame.get("requestId", 0), frame.get("seq", 0)):
                if not isinstance(number, int):
                    raise TypeError(f"{number!r} is no number of a frame")
            return frame
        except Exception as error:
            raise _ProtocolError(f"sent a frame that cannot be read: {error}") from error

    def _receive(self, frame: dict[str, Any], size: int) -> None:
        request_id, seq = frame.pop("requestId", 0), frame.pop("seq", 0)
        if seq > 0:
            if seq <= self._last_seq:  # received before the connection ended
                return
            if seq != self._last_seq + 1:
                raise _ProtocolError(f"sent frame {seq} after frame {self._last_seq}")
            self._last_seq = seq
            if request_id != 0:
                self._idle_resumes = 0
        # Frames are received in order, so the server has those before an answered one too.
        self._forget(min(request_id, self._sent))
        for body, message in frame.items():
            if not isinstance(message, dict):  # a field of a newer server
                continue
            if body == "createAgent":
                self._agents.add(int(message.get("agentId", 0)))
            if request_id in self._pending:
                self._pending[request_id].put((body, message), size)
            elif request_id == 0 and body == "nodeEvent" and message.get("agentId") in self._late_events:
                parts, on_event = self._late_events[message["agentId"]]
                if event := parts.add(message):
                    asyncio.get_running_loop().call_soon(on_event, event)
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
    major = int(websockets.version.version.split(".")[0])
    return "additional_headers" if major >= 14 else "extra_headers"


# ---------------------------------------------------------------- tools

Tool = Callable[..., Any]

# Bytes of one result, as the server has it, and of those that a message brings: one message may have 256 KiB of variables.
MAX_RESULT_BYTES = 256 * 1024
MAX_EARLIER_BYTES = 128 * 1024

_log = logging.getLogger("turngraph")


@dataclass(frozen=True)
class Block:
    """What `before` returns to block a call: it is not run, and the reason is its result."""

    reason: str = "it is not allowed"


@dataclass(frozen=True)
class ToolEvent:
    """An event of an `Executor`. Each call has one of "completed", "failed" and "blocked", with its result.

    "started" comes before that where the tool is run; error: what the tool or a hook raised.
    """

    kind: Literal["started", "completed", "failed", "blocked"]
    call: Call
    result: ToolResult | None = None
    error: BaseException | None = None


class ToolFailed(Exception):
    """A call that failed, with an executor of throw_on_failure; `__cause__` is what the tool raised."""

    def __init__(self, call: Call, result: ToolResult) -> None:
        super().__init__(f"{call.tool_name}: {result.content}")
        self.call = call
        self.result = result


Decision = Union[Call, ToolResult, Block, None]


class DefinedTool:
    """A function with its declaration: what `@tool` makes. It is called like the function."""

    def __init__(self, function: Tool, consequential: bool) -> None:
        self.function = function
        self.name: str = function.__name__
        self.declaration = {**_declare(function), **({"consequential": True} if consequential else {})}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@overload
def tool(function: Tool, /) -> DefinedTool: ...


@overload
def tool(*, consequential: bool) -> Callable[[Tool], DefinedTool]: ...


def tool(function: Tool | None = None, /, *, consequential: bool = False) -> DefinedTool | Callable[[Tool], DefinedTool]:
    """Defines a tool once, for `create_agent(tools=[...])`: the graph names it, and the model is told of it what is here.

    Its name is that of the function, its description the first paragraph of the docstring. Its parameters are those of the
    signature, with their type hints; lines `name: text` under `Args:` describe them. One with a default may be left out.

        @tool
        def set_light(name: Literal["porch", "hall"], on: bool = True) -> str:
            \"""Turn a light on or off.

            Args:
                name: Which light.
            \"""
    """
    if function is None:
        return lambda each: DefinedTool(each, consequential)
    return DefinedTool(function, consequential)


JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _declare(function: Tool) -> dict[str, Any]:
    description, notes = _read_docstring(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if not properties and name in ("self", "cls"):
            how = f"remove @tool, and give create_agent tools=[tool(object.{function.__name__})]"
            raise TypeError(f"{function.__qualname__} is a method: {how}")
        place = f"the parameter {name} of the tool {function.__name__}"
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise TypeError(f"{place} must be one that is given by its name")
        properties[name] = {**_schema_of(parameter.annotation, place), **notes.pop(name, {})}
        if parameter.default is inspect.Parameter.empty:
            if type(None) in get_args(parameter.annotation):
                raise TypeError(f"{place} may be None, so it needs a default: None")
            required.append(name)
    if notes:
        raise TypeError(f"the tool {function.__name__} has no parameter {next(iter(notes))}, which its docstring describes")
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {"name": function.__name__, "description": description, **({"parameters": schema} if properties else {})}


def _read_docstring(function: Tool) -> tuple[str, dict[str, dict[str, str]]]:
    """The first paragraph of the docstring, and the descriptions under `Args:` by the names of parameters."""
    head, _, tail = f"\n{inspect.getdoc(function) or ''}".partition("\nArgs:\n")
    description = " ".join(head.strip().split("\n\n")[0].split())
    if not description:
        raise TypeError(f"the tool {function.__name__} has no docstring, which tells the model what it does")
    notes: dict[str, dict[str, str]] = {}
    note = {"description": ""}
    indent = len(tail) - len(tail.lstrip(" "))
    for line in itertools.takewhile(lambda each: each.startswith(" ") or not each, tail.splitlines()):
        name, colon, text = line.strip().partition(":")
        if colon and len(line) - len(line.lstrip(" ")) == indent:
            note = notes[name.split(" ")[0]] = {"description": text.strip()}
        else:
            note["description"] = f"{note['description']} {line.strip()}".strip()
    return description, notes


def _schema_of(hint: Any, place: str) -> dict[str, Any]:
    kind, args = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        return _schema_of(args[0], place)
    if kind in (Union, types.UnionType):
        schemas = [_schema_of(each, place) for each in args if each is not type(None)]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    if kind is Literal:
        [*names] = {JSON_TYPES.get(type(value)) for value in args}
        return {**({"type": names[0]} if len(names) == 1 else {}), "enum": list(args)}
    if kind in (list, Sequence):
        return {"type": "array", **({"items": _schema_of(args[0], place)} if args else {})}
    if kind in (dict, Mapping):
        return {"type": "object"}
    if kind is Any:
        return {}
    if kind in JSON_TYPES:
        return {"type": JSON_TYPES[kind]}
    raise TypeError(f"{place} needs a type hint of JSON: str, int, float, bool, Literal, list, dict, Optional or Any")


class Executor:
    """Runs detected calls, for `agent.send(..., tools=executor)`. Only the tools that it has are ever run.

    tools: functions by tool name, or a list of those of `@tool`; called with the arguments as keywords. Coroutine functions run in the event loop, plain
    ones in threads. They return text, a JSON value or a ToolResult; what they raise becomes a failure result. Arguments
    that do not fit the signature or its type hints do so too, and the function is not called.

    concurrency: how many calls of a turn run in parallel; those that it waits for no more do not count. before(call):
    returns a Call to run in its place, a ToolResult in place of running it, a Block, or None. confirm(call): asked before a
    consequential call; anything but True blocks it. These two are asked about one call after the other, and block it when they raise. after(call, result): may return another
    ToolResult. Hooks may be coroutine functions, too; plain ones are called in threads. stop_on_block: the calls of a reply
    after a blocked one are not run. throw_on_failure: a failed call cancels the turn, which raises ToolFailed. on_event:
    called with each ToolEvent; without it, what a tool or hook raises is logged in one line, and at the level DEBUG with its
    traceback.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool] | Sequence[DefinedTool],
        *,
        concurrency: int = 4,
        before: Callable[[Call], Decision | Awaitable[Decision]] | None = None,
        after: Callable[[Call, ToolResult], ToolResult | None | Awaitable[ToolResult | None]] | None = None,
        confirm: Callable[[Call], bool | Awaitable[bool]] | None = None,
        stop_on_block: bool = False,
        throw_on_failure: bool = False,
        on_event: Callable[[ToolEvent], object] | None = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be 1 or more, not {concurrency}")
        self.declarations: list[Any] = []
        if not isinstance(tools, Mapping):
            for each in tools:
                if not isinstance(each, DefinedTool):
                    raise TypeError(f"a list of tools has those of @tool, not {each!r}")
            self.declarations = [each.declaration for each in tools]
            tools = {each.name: each.function for each in tools}
        for name, function in tools.items():
            if not callable(function):
                raise TypeError(f"tools[{name!r}] must be a function, not {function!r}")
        self.tools = dict(tools)
        self.concurrency = concurrency
        self.before = before
        self.after = after
        self.confirm = confirm
        self.stop_on_block = stop_on_block
        self.throw_on_failure = throw_on_failure
        self.on_event = on_event


class _Blocked(Exception):
    """The call is not run; the message says why."""


class _Failure(Exception):
    """The call has failed without an exception of the program; the message is its result."""


class _Reply:
    """The calls of one reply of a model. The server sends all of them before it takes a result of one."""

    def __init__(self, node_name: str, concurrency: int) -> None:
        self.node_name = node_name
        self.blocked = ""
        self.is_complete = False
        self.is_given_up = False
        self.slots = asyncio.Semaphore(concurrency)
        self.not_started: set[asyncio.Task[Any]] = set()

    def complete(self) -> None:
        self.is_complete = True

    def give_up(self) -> None:
        """The turn waits for its calls no more. Tools that run go on: their results come with the next message."""
        self.is_given_up = True
        for work in self.not_started:
            work.cancel()


class _ToolRunner:
    """The calls of one turn: decides on them in order, and runs them in parallel."""

    def __init__(
        self,
        executor: Executor,
        submit: Callable[[Call, ToolResult, Callable[[], None]], Awaitable[bool]],
        fail: Callable[[ToolFailed], None],
    ) -> None:
        self._executor = executor
        self._submit = submit
        self._fail = fail
        self._turnstile = asyncio.Lock()  # serves in the order of the calls
        self._slots = asyncio.Semaphore(executor.concurrency)
        self._tasks: list[asyncio.Task[ToolRun]] = []
        self._detached: list[asyncio.Task[ToolRun]] = []  # of calls whose results the turn does not wait for
        self._work: list[asyncio.Task[tuple[ToolRun, BaseException | None]]] = []
        self._reply = _Reply("", executor.concurrency)
        self._is_cancelled = False
        self._taken: set[asyncio.Task[ToolRun]] = set()

    @property
    def runs(self) -> list[ToolRun]:
        """The calls that have ended, in the order of the calls."""
        return [task.result() for task in self._tasks if task.done() and not task.cancelled()]

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self._tasks)

    def take_left_over(self) -> list[ToolRun]:
        """The calls that have ended since, and whose results the turn did not take."""
        new = [task for task in self._tasks if task.done() and not task.cancelled() and task not in self._taken]
        self._taken.update(new)
        return [task.result() for task in new if not task.result().in_turn]

    def start(self, call: Call) -> None:
        if self._reply.is_complete or self._reply.node_name != call.node_name:
            # The model answers again only when the turn waits for its last calls no more.
            self._reply.give_up()
            self._reply = _Reply(call.node_name, self._executor.concurrency)
        task = asyncio.create_task(self._handle(call, self._reply))
        self._tasks.append(task)
        if not call.awaits_result:
            self._detached.append(task)

    def cancel(self) -> None:
        self._is_cancelled = True
        for work in self._work:
            work.cancel()

    async def wait(self, timeout: float | None) -> bool:
        """Waits until calls have ended; of a turn that goes on without a result, for no call of these.

        Returns whether they have, within the timeout.
        """
        tasks = self._tasks if self._is_cancelled else self._detached
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)
        return all(task.done() for task in tasks)

    async def _handle(self, call: Call, reply: _Reply) -> ToolRun:
        detected = replace(call, arguments=copy.deepcopy(call.arguments))
        run, error = await self._run(call, reply)
        run = replace(run, _detected=detected)
        self._emit(ToolEvent(run.outcome, run.call, run.result, error))
        if self._is_cancelled:
            return run
        if run.outcome == "failed" and self._executor.throw_on_failure and not reply.is_given_up:
            failure = ToolFailed(run.call, run.result)
            failure.__cause__ = error
            self._fail(failure)
            return run
        return replace(run, in_turn=await self._submit(call, run.result, reply.complete))

    async def _run(self, call: Call, reply: _Reply) -> tuple[ToolRun, BaseException | None]:
        if not self._is_cancelled:
            work = asyncio.create_task(self._decide_and_call(call, reply))
            self._work.append(work)
            if call.awaits_result:
                reply.not_started.add(work)
            try:
                await asyncio.wait({work})
            finally:
                reply.not_started.discard(work)
                work.cancel()  # only when this task is cancelled: the event loop ends
            if not work.cancelled():
                return work.result()
        why = "the turn went on without the result" if reply.is_given_up else "the call was cancelled"
        why = "the turn ended before the tool" if self._is_cancelled else why
        return ToolRun(call, ToolResult(why, ok=False), "failed"), None

    async def _decide_and_call(self, call: Call, reply: _Reply) -> tuple[ToolRun, BaseException | None]:
        error: BaseException | None = None
        is_blocked = False
        try:
            async with self._turnstile:
                call, decision = await self._decide(call, reply)
            if decision is None:
                async with reply.slots if call.awaits_result else self._slots:
                    reply.not_started.discard(cast("asyncio.Task[Any]", asyncio.current_task()))
                    self._emit(ToolEvent("started", call))
                    result = _to_result(await _call(self._executor.tools[call.tool_name], **call.arguments))
            else:
                result = decision
            _assert_sendable(result)
        except _Blocked as blocked:
            result, error, is_blocked = ToolResult(f"not run: {blocked}", ok=False), blocked.__cause__, True
        except Exception as raised:
            result, error = _failure(raised)
        try:
            changed = await _call(self._executor.after, call, result) if self._executor.after else None
            if not isinstance(changed, (ToolResult, type(None))):
                raise TypeError(f"after must return a ToolResult or None, not {changed!r}")
            result = changed or result
            _assert_sendable(result)
        except Exception as raised:
            result, error = _failure(raised)
        return ToolRun(call, result, "blocked" if is_blocked else "completed" if result.ok else "failed"), error

    async def _decide(self, call: Call, reply: _Reply) -> tuple[Call, ToolResult | None]:
        """The call to run, or the result in place of running it."""
        tools = self._executor.tools
        if call.tool_name not in tools:
            raise _Failure(f'no tool "{call.tool_name}" is registered')
        if not call.known:
            # The server has neither checked such a call nor said whether it is consequential.
            raise _Failure(f'{call.node_name} offers no tool "{call.tool_name}"')
        if reply.blocked:
            raise _Blocked(f"the call of {reply.blocked} before it was blocked")
        try:
            decision = await self._ask_before(call)
            if isinstance(decision, ToolResult):
                return call, decision
            if decision.tool_name not in tools:
                raise _Failure(f'no tool "{decision.tool_name}" is registered')
            # The issues are about the arguments that the model wrote.
            is_changed = (decision.tool_name, decision.arguments) != (call.tool_name, call.arguments)
            problem = "" if is_changed else _find_issues(call)
            if problem := problem or _find_mismatch(decision.arguments, tools[decision.tool_name]):
                raise _Failure(f"invalid arguments: {problem}")
            await self._ask_confirm(decision)
            return decision, None
        except _Blocked:
            if self._executor.stop_on_block:
                reply.blocked = call.tool_name
            raise

    async def _ask_before(self, call: Call) -> Call | ToolResult:
        if not self._executor.before:
            return call
        try:
            decision = await _call(self._executor.before, call)
        except Exception as error:
            raise _Blocked(_describe(error)) from error
        if isinstance(decision, Block):
            raise _Blocked(decision.reason)
        if isinstance(decision, (Call, ToolResult)):
            return decision
        if decision is None:
            return call
        misuse = TypeError(f"before must return a Call, a ToolResult, a Block or None, not {decision!r}")
        raise _Blocked(str(misuse)) from misuse

    async def _ask_confirm(self, call: Call) -> None:
        if not call.consequential or not self._executor.confirm:
            return
        try:
            is_confirmed = await _call(self._executor.confirm, call) is True
        except Exception as error:
            raise _Blocked(_describe(error)) from error
        if not is_confirmed:
            raise _Blocked("it was not confirmed")

    def _emit(self, event: ToolEvent) -> None:
        # A callback of the event loop, which logs an exception of it.
        if on_event := self._executor.on_event:
            asyncio.get_running_loop().call_soon(on_event, event)
        elif event.error is not None:
            why = f"{type(event.error).__name__}: {_describe(event.error)}"
            trace = event.error if _log.isEnabledFor(logging.DEBUG) else None
            _log.error("the call of %s failed: %s", event.call.tool_name, why, exc_info=trace)


class _EarlierRuns:
    """Calls whose results no turn took: the next message brings them."""

    def __init__(self) -> None:
        self._runners: list[_ToolRunner] = []
        self._returned: list[ToolRun] = []

    def add(self, runner: _ToolRunner) -> None:
        self._runners.append(runner)

    def take(self) -> list[ToolRun]:
        runs = self._returned + [run for runner in self._runners for run in runner.take_left_over()]
        self._returned = []
        self._runners = [runner for runner in self._runners if not runner.is_done]
        return runs

    def put_back(self, runs: list[ToolRun]) -> None:
        self._returned = runs + self._returned

    def clear(self) -> None:
        self._returned, self._runners = [], []


def _earlier_variable(runs: list[ToolRun]) -> tuple[dict[str, str], list[ToolRun]]:
    """The variable with the results of calls, and the calls that do not fit."""
    entries: list[str] = []
    size = 0
    for run in runs:
        entry = _earlier_entry(run)
        size += _size_in_message(entry)
        if size > MAX_EARLIER_BYTES:
            break
        entries.append(entry)
    return {"previous_tool_results": f"[{', '.join(entries)}]"} if entries else {}, runs[len(entries) :]


def _earlier_entry(run: ToolRun) -> str:
    content = _result_message("", run.result)["content"]
    call = run._detected or run.call
    entry = {"name": call.tool_name, "arguments": call.arguments, "ok": run.result.ok, "content": content}
    size = _size_in_message(_to_json(entry))
    if size > MAX_EARLIER_BYTES:
        why = f"the call and its result have {size} bytes, and {MAX_EARLIER_BYTES} are allowed in a message"
        return _to_json({"name": call.tool_name[:64], "arguments": {}, "ok": False, "content": why})
    return _to_json(entry)


def _size_in_message(entry: str) -> int:
    # A variable is a text in JSON, in which the JSON of the entry is escaped again.
    return len(_to_json([entry]).encode())


def _to_result(value: Any) -> ToolResult:
    return value if isinstance(value, ToolResult) else ToolResult(value)


def _result_message(call_id: str, result: ToolResult) -> dict[str, Any]:
    """A ToolResult of the wire. Raises TurngraphError for one that cannot be sent."""
    if result.lifespan not in ("TURN", "DIALOG"):
        raise _malformed(f'the lifespan of a result must be "TURN" or "DIALOG", not {result.lifespan!r}')
    if not isinstance(result.ok, bool):
        raise _malformed(f"ok of a result must be True or False, not {result.ok!r}")
    content = "ok" if result.content is None else result.content
    try:
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        raise _malformed(f"the result is not JSON: {error}") from error
    if size > MAX_RESULT_BYTES:
        message = f"the result has {size} bytes, and {MAX_RESULT_BYTES} are allowed; send less"
        raise TurngraphError(2005, "LIMIT_EXCEEDED", message)
    # Control characters take six bytes each in the JSON form. The rest of the frame is short.
    size = len(_to_json([text]).encode()) + 1024
    if size > MAX_FRAME_BYTES:
        message = f"the result has {size} bytes, and a frame may have {MAX_FRAME_BYTES}; send less"
        raise TurngraphError(5003, "FRAME_TOO_LARGE", message)
    message: dict[str, Any] = {"callId": call_id, "ok": result.ok, "content": text, "lifespan": result.lifespan}
    if result.metadata is not None:
        try:
            message["metadataJson"] = json.dumps(result.metadata, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise _malformed(f"the metadata of the result is not JSON: {error}") from error
    if result.control:
        message["control"] = dict(result.control)
    return message


def _assert_sendable(result: ToolResult) -> None:
    try:
        _result_message("", result)
    except TurngraphError as error:
        raise _Failure(error.message) from error


def _failure(error: Exception) -> tuple[ToolResult, BaseException | None]:
    if isinstance(error, _Failure):
        return ToolResult(str(error), ok=False), None
    return ToolResult(_describe(error), ok=False), error


def _describe(error: BaseException) -> str:
    try:
        return str(error) or "the tool failed"
    except Exception:  # of its __str__
        return "the tool failed"


async def _call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a coroutine function in the event loop, and a plain one in a thread."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):
        return await function(*args, **kwargs)

    def call() -> Any:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:  # a future cannot carry it
            raise RuntimeError("StopIteration") from error

    result = await asyncio.to_thread(call)
    return await result if inspect.isawaitable(result) else result


def _find_issues(call: Call) -> str:
    """Why the arguments do not fit their schema. One parameter too many is no matter, if the function takes it."""
    issues = [issue for issue in call.issues if issue.code in ("missing_param", "wrong_type", "not_in_enum")]
    return "; ".join(issue.message for issue in issues)


def _find_mismatch(arguments: Mapping[str, Any], function: Tool) -> str:
    """Why a function cannot be called with these arguments; else empty."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except Exception:  # a hint that is known to type checkers only, or a function of C
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return ""
    try:
        signature.bind(**arguments)
    except TypeError as error:
        return str(error)
    others = next((each for each in signature.parameters.values() if each.kind is inspect.Parameter.VAR_KEYWORD), None)
    for name, value in arguments.items():
        parameter = signature.parameters.get(name, others)
        if parameter is not None and not _fits(value, parameter.annotation):
            return f"{name} must be {_spell(parameter.annotation)}, not {_to_json([value])[1:-1]}"
    return ""


def _spell(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value is of a type. Types that JSON does not have are not checked."""
    kind, args = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        return _fits(value, args[0])
    if kind in (Union, types.UnionType):
        return any(_fits(value, each) for each in args)
    if kind is Literal:
        return any(type(value) is type(each) and value == each for each in args)
    if kind in (None, type(None)):
        return value is None
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    if kind in (str, bool):
        return isinstance(value, kind)
    if kind in (list, Sequence):
        return isinstance(value, list) and all(_fits(each, args[0]) for each in value if args)
    if kind in (dict, Mapping):
        return isinstance(value, dict) and all(_fits(each, args[1]) for each in value.values() if args)
    return True


# ---------------------------------------------------------------- agents and turns


class Agent:
    """One conversation on the server. `async with agent:` destroys it at the end."""

    def __init__(
        self, client: Client, agent_id: int, warnings: Sequence[str], tools: Executor | None = None
    ) -> None:
        self._client = client
        self._earlier_runs = _EarlierRuns()
        self._open_turns: list[Turn] = []
        self._tools = tools
        self.id = agent_id
        self.warnings = warnings

    def send(
        self,
        text: str,
        *,
        variables: Mapping[str, str] | None = None,
        tools: Executor | Mapping[str, Tool] | Sequence[DefinedTool] | None = None,
        timeout: float | None = None,
        priority: Literal["NORMAL", "BACKGROUND", "URGENT"] = "NORMAL",
    ) -> Turn:
        """Sends a user message and starts a turn immediately; one turn at a time.

        tools: an executor, or what makes one (functions by name, a list of those of `@tool`): runs the calls of the turn as soon
        as they are detected; default: those of `create_agent`. Results that the turn does not wait for are in the
        variable previous_tool_results of the next message. After `timeout` seconds the turn is cancelled, and TimedOut is
        raised. priority: which turn goes first where several compete.
        """
        if tools is not None and not isinstance(tools, Executor):
            tools = Executor(tools)
        return Turn(self, text, variables or {}, tools or self._tools, timeout, priority)

    async def submit_tool_results(self, results: Mapping[str, Any], turn_id: int = 0) -> None:
        """Gives a turn results that it waits for: by call_id a `ToolResult`, a text or a JSON value; all or none is taken.

        turn_id 0: the running turn. Raises 3012 for a call that does not wait, or no longer, and 2005 for too long a text.
        """
        messages = [_result_message(call_id, _to_result(result)) for call_id, result in results.items()]
        await self._client.request("submitToolResults", {"agentId": self.id, "turnId": turn_id, "results": messages})

    async def append_dialog(self, user: str = "", assistant: str = "") -> None:
        """Adds what was said elsewhere to the dialog, between turns; one of the two may be empty."""
        await self._client.request("appendDialog", {"agentId": self.id, "user": user, "assistant": assistant})

    async def append_text(
        self, text: str, *, role: Literal["assistant", "user"] = "assistant", notify: bool = False
    ) -> str:
        """Adds a line to the dialog at any time: while a turn runs, between its message and its answer.

        notify: the running turn has it as a `Text` with source "client", too; while none runs, it is returned, else "".
        """
        message = {"agentId": self.id, "text": text, "role": role, "notify": notify}
        sent: list[str] = []
        await self._client.request("appendText", message, on_frame=lambda _, frame: sent.append(frame.get("text", "")))
        return "".join(sent)

    async def set_agent_mode(self, mode: Literal["AUTO", "MANUAL"]) -> None:
        """Says who answers from now on: the graph, or people ("MANUAL"): then turns end at once, with the message kept."""
        await self._client.request("setAgentMode", {"agentId": self.id, "mode": mode})

    async def set_variables(self, variables: Mapping[str, Any]) -> None:
        """Sets variables that all later turns have; those of a message win. None removes one."""
        await self._client.request("setVariables", {"agentId": self.id, "variablesJson": _to_json(variables)})

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
            "exportDialog", {"agentId": self.id}, on_frame=lambda _, message: parts.append(message.get("historyJson", ""))
        )
        return cast("list[dict[str, Any]]", _parse("".join(map(str, parts)), "historyJson"))

    async def clear_dialog(self) -> None:
        self._earlier_runs.clear()
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
    TurnFailed when the turn fails. A cancelled turn is not a failure: its status is "CANCELLED". Cancelling the task that
    iterates or awaits cancels the turn.
    """

    def __init__(
        self,
        agent: Agent,
        text: str,
        variables: Mapping[str, str],
        tools: Executor | None,
        timeout: float | None,
        priority: str,
    ) -> None:
        self._client = agent._client
        self._agent = agent
        self._texts: list[str] = []
        self._fields: dict[str, Any] = {}
        self._calls: list[Call] = []
        self._events: list[NodeEvent] = []
        self._parts = _EventParts()
        self._turn_id = 0
        self._lock = asyncio.Lock()
        self._runner = _ToolRunner(tools, self._submit, self._fail) if tools else None
        self._timeout_error: TimedOut | None = None
        self._tool_error: ToolFailed | None = None
        self._summary: TurnResult | TurngraphError | None = None
        self._outcome: TurnResult | TurngraphError | ToolFailed | None = None
        self._has_ended = False
        self._is_aborted = False
        self._earlier = [] if "previous_tool_results" in variables else agent._earlier_runs.take()
        earlier, rest = _earlier_variable(self._earlier)
        try:
            variables = {**earlier, **variables}
            message = {"agentId": agent.id, "text": text, "variables": variables, "priority": priority}
            self._request = self._client._start_request("sendMessage", message, timeout)
        except TurngraphError:
            agent._earlier_runs.put_back(self._earlier)
            raise
        agent._earlier_runs.put_back(rest)
        self._earlier = self._earlier[: len(self._earlier) - len(rest)]
        self._request.on_frame = self._on_frame
        agent._open_turns.append(self)

    async def cancel(self) -> None:
        """Cancels the turn: the iteration ends with the events so far."""
        if self._has_ended:
            return
        if self._runner:
            self._runner.cancel()
        if self._can_cancel():
            await self._client.request("cancelTurn", {"agentId": self._agent.id, "turnId": self._turn_id})
        else:
            self._is_aborted = True

    def __await__(self) -> Generator[Any, None, TurnResult]:
        return self._finish().__await__()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while self._outcome is None:
            event = await self._next()
            if event is not None:
                yield event
        if isinstance(self._outcome, Exception):
            raise self._outcome

    async def _finish(self) -> TurnResult:
        while self._outcome is None:
            await self._next()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def _on_frame(self, frame: Answer | TurngraphError) -> None:
        """Starts calls at once, however slowly the events are read, and ends them when the turn ends without success."""
        if self._has_ended:
            return
        body, message = frame if not isinstance(frame, TurngraphError) else ("dropped", {})
        self._turn_id = message.get("turnId", self._turn_id)
        if body == "toolCallNotification" and self._runner:
            with contextlib.suppress(TurngraphError):  # whoever reads the frame gets it
                self._runner.start(_read_call(message))
        if isinstance(frame, LimitExceeded):
            self._abort()
        if body in ("turnComplete", "error", "dropped"):
            self._has_ended = True
            self._agent._open_turns.remove(self)
            if body == "error":  # no turn began
                self._agent._earlier_runs.put_back(self._earlier)
            if self._runner:
                self._agent._earlier_runs.add(self._runner)
                if message.get("status", "SUCCESS") != "SUCCESS" or body == "dropped":
                    self._runner.cancel()
        for turn in self._agent._open_turns:
            turn._send_cancel()

    async def _next(self) -> Event | None:
        try:
            async with self._lock:
                if self._outcome is not None:
                    return None
                if self._summary is None:
                    event = await self._receive()
                    if self._summary is None:
                        return event
                await self._end(self._summary)
                return None
        except asyncio.CancelledError:
            self._abort()
            raise

    async def _receive(self) -> Event | None:
        try:
            body, message, final = await self._request.next()
        except TimedOut as error:
            if self._timeout_error is None:
                self._timeout_error = error
                # The agent takes the next message only when the turn has ended, so wait for that, at most 5 s.
                self._request.set_timeout(5.0)
                self._abort()
            else:
                self._summary = self._timeout_error
            return None
        except TurngraphError as error:
            self._summary = error
            return None
        try:
            if not final:
                return self._event(body, message)
            self._summary = self._summarize(message)
        except TurngraphError as error:
            self._abort()
            self._summary = error
        return None

    async def _end(self, summary: TurnResult | TurngraphError) -> None:
        is_cancelled = isinstance(summary, TurnResult) and summary.status == "CANCELLED"
        if self._timeout_error and is_cancelled:
            summary = self._timeout_error
        if self._runner:
            if isinstance(summary, TurngraphError) or is_cancelled or self._tool_error:
                self._runner.cancel()
            if not await self._runner.wait(self._request.seconds_left()):
                self._runner.cancel()
                await self._runner.wait(5.0)
                summary = self._request.timed_out() if isinstance(summary, TurnResult) else summary
            if isinstance(summary, TurnResult):
                summary = replace(summary, tool_runs=self._runner.runs)
            elif isinstance(summary, TurnFailed):
                summary.result = replace(summary.result, tool_runs=self._runner.runs)
        self._request.discard()
        self._outcome = self._tool_error or summary

    def _abort(self) -> None:
        """Cancels the turn and its tools without waiting for it."""
        if self._runner:
            self._runner.cancel()
        self._is_aborted = True
        self._send_cancel()

    def _can_cancel(self) -> bool:
        # Turn id 0 is the current turn of the agent, which may be another one while several are open.
        return not self._has_ended and (self._turn_id != 0 or len(self._agent._open_turns) == 1)

    def _send_cancel(self) -> None:
        if self._is_aborted and self._can_cancel():
            self._is_aborted = False
            with contextlib.suppress(ConnectionDropped):
                message = {"agentId": self._agent.id, "turnId": self._turn_id}
                self._client._start_request("cancelTurn", message, None).discard()

    def _fail(self, error: ToolFailed) -> None:
        if self._outcome is None:
            self._tool_error = self._tool_error or error
            self._abort()

    async def _submit(self, call: Call, result: ToolResult, on_taken: Callable[[], None]) -> bool:
        """Gives the turn a result. Returns whether it took it: it may have ended, or not wait for the result."""
        is_taken = call.awaits_result and await self._give(call, result, on_taken)
        mode = (result.control or {}).get("mode")
        if mode and not is_taken:
            with contextlib.suppress(TurngraphError):
                await self._agent.set_agent_mode(mode)
        return is_taken

    async def _give(self, call: Call, result: ToolResult, on_taken: Callable[[], None]) -> bool:
        def on_frame(frame: Answer | TurngraphError) -> None:
            # At once: the next frame may be a call of the next reply.
            if not isinstance(frame, TurngraphError) and frame[0] == "ack":
                on_taken()

        if self._has_ended:
            return False
        message = {"agentId": self._agent.id, "turnId": call.turn_id, "results": [_result_message(call.call_id, result)]}
        try:
            request = self._client._start_request("submitToolResults", message, self._client._timeout)
        except TurngraphError:
            return False
        request.on_frame = on_frame
        try:
            await request.next()
        except TurngraphError:
            return False
        finally:
            request.discard()
        return True

    def _event(self, body: str, message: dict[str, Any]) -> Event | None:
        if body == "answerText" and message.get("text"):
            text = _read(Text, message)
            if text.source == "":
                self._texts.append(text.text)
            return text
        if body == "answerField":
            answer_field = _read(AnswerField, message, value=_parse(message.get("valueJson"), "valueJson"))
            self._fields[answer_field.name] = answer_field.value
            return answer_field
        if body == "toolCallNotification":
            self._calls.append(_read_call(message))
            return self._calls[-1]
        if body == "nodeEvent":
            if event := self._parts.add(message):
                self._events.append(event)
            return event
        return None

    def _summarize(self, message: dict[str, Any]) -> TurnResult | TurngraphError:
        result = _read(
            TurnResult,
            message,
            text="".join(self._texts),
            fields=self._fields,
            calls=self._calls,
            events=self._events,
            path=[_read(Step, step) for step in message.get("path", [])],
            model_choices=[_read(ModelChoice, choice) for choice in message.get("modelChoices", [])],
            debug_info=_parse(message["debugInfo"], "debugInfo") if message.get("debugInfo") else None,
            result_metadata={
                each.get("callId", ""): _parse(each.get("metadataJson"), "metadataJson")
                for each in message.get("resultMetadata", [])
            },
        )
        return TurnFailed(message.get("error") or {}, result) if result.status == "ERROR" else result
