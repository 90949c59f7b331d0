// A client of turngraph for web pages, as one module without a build step. It also runs in Node 22.

const minPauseMs = 250;
const maxPauseMs = 8000;

/** What a client takes from a server that hangs, is broken or malicious. */
export const defaultLimits = {
  /** Milliseconds for an attempt to connect. */
  connectMs: 10_000,
  /** Milliseconds without a connection that lasts or brings an answer, after which the client stops. */
  reconnectMs: 600_000,
  /** Milliseconds for the answer to a request, which then rejects with 1003. */
  requestMs: 60_000,
  /**
   * The same for turns, and for requests that load or search: milliseconds without a new frame, not counting pauses by setPace.
   * More than the server's --turn-timeout and the results_timeout_ms of a graph.
   */
  idleMs: 300_000,
  /** Size of a frame. After a larger one the client stops. */
  frameBytes: 2 ** 20,
  /** Size of all frames of an answer; the request then rejects with 2005. */
  answerBytes: 2 ** 24,
};

/** Requests that may take long. */
const slowRequests = new Set([
  'createAgent',
  'sendMessage',
  'loadModel',
  'downloadModel',
  'createStringStorage',
  'searchStorage',
]);

/** A connection that has lasted for so long is a good one: the next pause is short. */
const stableMs = 10_000;

/** How long a session is tried to be resumed. By default a server keeps it for that long. */
const resumeTimeoutMs = 60_000;

/** The id of the request that resumes a session. Other requests have their number in the session, from 1. */
const resumeRequestId = 2 ** 32 - 1;

/** Close codes that the next attempt would get, too. */
const finalCloseCodes = new Set([1002, 4401, 4406, 4409]);

/** Close codes after which a new session begins: the server ends, or would close the resumed session again. */
const lostCloseCodes = new Set([...finalCloseCodes, 1001, 1009, 4429]);

/** Issues of a call about the shape of its arguments: a tool is not run with such. */
const blockingIssues = new Set(['missing_param', 'wrong_type', 'not_in_enum']);

/** The limits of a server for the result of a call, and for a frame. */
const maxResultBytes = 256 * 1024;
const maxFrameBytes = 2 ** 20;

/**
 * A refused request (the server's code), a turn that failed (`turn` is then what `send` would have resolved with), or a
 * connection that failed (1001) or ended (1002).
 */
export class TurngraphError extends Error {
  constructor(code, name, message) {
    super(`${code} ${name}: ${message}`);
    this.code = code;
    this.sentence = message;
  }
}

function dropped(message) {
  return new TurngraphError(1002, 'CONNECTION_DROPPED', message);
}

/** Connects: resolves with a `Client` that is ready, and rejects when the first attempt fails. The options are those of `Client`. */
export async function connect(url, options = {}) {
  let client;
  const failed = new Promise((resolve, reject) => {
    const onLost = (error) => {
      reject(error);
      options.onLost?.(error);
    };
    client = new Client(url, { ...options, onLost });
  });
  try {
    await Promise.race([client.ready(), failed]);
    return client;
  } catch (error) {
    void client.close();
    throw error;
  }
}

/**
 * A connection that is made again whenever it ends. Its session is resumed: agents go on in the middle of an answer. Where
 * that is not possible, because the server was started again, the agents are created again with their dialogs.
 */
export class Client {
  #url;
  #configuration;
  #limits;
  #onLost;
  #onReconnected;
  #agents = new Set();
  #connection;
  /** Undefined when there is none that could be resumed. */
  #session;
  #pauseMs = minPauseMs;
  /** When a connection had lasted, or brought an answer. */
  #goodTime = performance.now();
  /** When the session began, or was resumed, on its connection. */
  #attachTime = 0;
  #timer;
  /** When the connection of the session ended; undefined while there is one. */
  #dropTime;
  /** Why there is no connection, for the message of an error; '' while there is one. */
  #interruption = '';
  #isStopped = false;
  #stopError;
  #isReady = false;
  #hasBeenReady = false;
  #ready = createDeferred();
  /** Milliseconds of the frames since the last report, and when the first of them ended. */
  #frames = [];
  #framesSince = 0;

  /**
   * Starts to connect. `token` is that of the server, `configuration` the configureSession of each session, `limits`
   * replace those of `defaultLimits`. `onLost` is called
   * with the error when the connection has ended, and when an attempt to connect has failed. `onReconnected` is called when
   * there is a connection again: with true when the session was resumed, with false when the agents were created again.
   */
  constructor(url, { token, configuration, limits, onLost, onReconnected } = {}) {
    this.#url = new URL(url);
    // A page cannot set headers.
    if (token !== undefined) this.#url.searchParams.set('token', token);
    this.#configuration = configuration;
    this.#limits = { ...defaultLimits, ...limits };
    this.#onLost = onLost;
    this.#onReconnected = onReconnected;
    this.#connect();
  }

  /**
   * Resolves when there is a session with all agents, and the server is not shutting down. Rejects when the agents cannot be
   * restored, when no connection lasts for `reconnectMs`, and when the client is closed.
   */
  ready() {
    return this.#ready.promise;
  }

  /** The id of the session; undefined while there is none. */
  get sessionId() {
    return this.#session?.position.sessionId;
  }

  /**
   * Creates an agent; `fields` are those of createAgent, such as graphName. `graph` and `history` are values or JSON text; `history`
   * is what `exportDialog` returned, and null where there is none.
   */
  async createAgent(fields) {
    const agent = new Agent(this, fields);
    if (agent.historyJson === '')
      throw new TurngraphError(5001, 'MALFORMED_MESSAGE', 'history is empty: leave it out, or give "[]"');
    await agent.create(this);
    this.#agents.add(agent);
    return agent;
  }

  /**
   * Sends any request, such as listModels. It waits while the connection is made again, and rejects when the session is lost.
   * `onFrame` gets the name and the content of each message of the answer, the last one included.
   */
  async request(message, body, onFrame) {
    // What has stopped the client says more than that it is stopped.
    if (this.#stopError) throw this.#stopError;
    if (!this.#session?.isRestored) throw dropped('not connected; await ready()');
    return this.#session.request(message, body, onFrame);
  }

  /**
   * Tells how many milliseconds a frame of the game took and may take: call it after each. Once a second the server gets the 95th
   * percentile, and takes less of the machine while that is late.
   */
  reportFrame(ms, targetMs) {
    const now = performance.now();
    if (this.#frames.push(ms) === 1) this.#framesSince = now;
    if (now - this.#framesSince < 1000) return;
    const sorted = this.#frames.sort((a, b) => a - b);
    this.#frames = [];
    const body = { ms: sorted[Math.floor((sorted.length - 1) * 0.95)], targetMs };
    // Without a connection it would wait, and be old.
    if (!this.#interruption) this.request('reportFrame', body).catch(() => undefined);
  }

  /** Adds entries, `{ text, id?, metadata?, keys?, always? }`, to a KNOWLEDGE storage: a known id is replaced. Returns the ids. */
  async addKnowledge(storage, entries) {
    return (await this.request('addKnowledge', { storage, entries })).ids ?? [];
  }

  /** Removes entries of a KNOWLEDGE storage. */
  async removeKnowledge(storage, ids) {
    await this.request('removeKnowledge', { storage, ids });
  }

  /** The entries of a KNOWLEDGE storage, as `addKnowledge` takes them. */
  async exportStorage(storage) {
    const entries = [];
    await this.request('exportStorage', { storage }, (message, frame) => {
      if (message === 'exportStorage') entries.push(...(frame.entries ?? []));
    });
    return entries.map(({ metadataJson, ...entry }) => ({ ...entry, metadata: JSON.parse(metadataJson || '{}') }));
  }

  /** Destroys the agents, which the server would keep for a while, and closes the connection. Resolves when it is closed. */
  async close() {
    const connection = this.#connection;
    for (const agent of this.#agents) agent.destroy().catch(() => undefined);
    this.#stop(dropped(`${this.#interruption}closed by the client`));
    // The server may not answer the close.
    await Promise.race([connection?.closed, new Promise((resolve) => setTimeout(resolve, 2000))]);
  }

  /** Does not restore an agent any more. For the agent. */
  forget(agent) {
    this.#agents.delete(agent);
  }

  #connect() {
    const url = new URL(this.#url);
    // A load balancer finds the server of the session by it.
    if (this.#session) url.searchParams.set('session', this.#session.position.sessionId);
    const connection = new Connection(url, {
      onMessage: (data) => this.#take(connection, data),
      onEnd: (error, closeCode) => this.#end(error, closeCode),
    });
    this.#connection = connection;
    const { connectMs } = this.#limits;
    const late = `${this.#url.host} did not answer within ${connectMs} ms; if it may take longer, raise connectMs`;
    this.#timer = setTimeout(() => {
      connection.explain(new TurngraphError(1001, 'CONNECTION_FAILED', late));
      connection.end();
    }, connectMs);
  }

  #take(connection, data) {
    let frame;
    const { frameBytes } = this.#limits;
    const size = data.length ?? data.size;
    if (size > frameBytes) {
      return this.#fail(dropped(`the server sent a frame of more than ${frameBytes} bytes; see frameBytes`));
    }
    try {
      frame = JSON.parse(data);
      if (frame === null || typeof frame !== 'object') throw new SyntaxError(`${data} is no frame`);
      if (typeof frame.sessionReady === 'object' && frame.sessionReady) this.#greet(connection, frame.sessionReady);
      else if (frame.requestId === resumeRequestId) this.#resume(connection, frame);
      else if (this.#session?.take(frame, size)) this.#markGood();
    } catch (error) {
      // The server breaks the protocol, and would do so again.
      return this.#fail(
        error instanceof TurngraphError ? error : dropped(`the server sent no frame: ${error.message}`),
      );
    }
    // An error that answers no request is followed by the close.
    if (frame.error && !frame.requestId) connection.explain(toError(frame.error));
    if (frame.error?.code === 2001) this.#notReady();
  }

  #greet(connection, sessionReady) {
    connection.begin(sessionReady);
    if (!this.#session) return this.#begin(connection, 0);
    connection.send(JSON.stringify({ requestId: resumeRequestId, resumeSession: this.#session.position }));
  }

  #resume(connection, { seq, error, resumeSession }) {
    if (resumeSession) {
      this.#session.resume(connection, resumeSession.requestsReceived ?? 0);
      this.#connected();
      this.#tell(this.#onReconnected, true);
      return;
    }
    // The connection has the session that began with it. The error is the first frame of that.
    this.#lose(dropped(`the session is lost: ${error.message}`));
    this.#begin(connection, seq ?? 0);
  }

  #begin(connection, lastSeq) {
    this.#session = new Session(connection, lastSeq, this.#limits);
    this.#connected();
    void this.#restore(this.#session);
  }

  async #restore(session) {
    try {
      if (this.#configuration) await session.request('configureSession', this.#configuration);
      for (const agent of this.#agents) await agent.create(session);
    } catch (error) {
      // After 2001 the server closes the connection. Any other refusal would be the same at the next attempt.
      if (session === this.#session && error.code !== 2001) this.#fail(error);
      return;
    }
    if (session !== this.#session) return;
    session.isRestored = true;
    this.#isReady = true;
    this.#ready.resolve();
    if (this.#hasBeenReady) this.#tell(this.#onReconnected, false);
    this.#hasBeenReady = true;
  }

  #connected() {
    clearTimeout(this.#timer);
    this.#attachTime = performance.now();
    this.#dropTime = undefined;
    this.#interruption = '';
  }

  #markGood() {
    this.#pauseMs = minPauseMs;
    this.#goodTime = performance.now();
  }

  #end(error, closeCode) {
    clearTimeout(this.#timer);
    this.#connection = undefined;
    if (this.#isStopped) return;
    this.#interruption = `${error.sentence}; `;
    this.#tell(this.#onLost, error);
    this.#session?.detach();
    const now = performance.now();
    if (this.#session && this.#dropTime === undefined && now - this.#attachTime > stableMs) this.#markGood();
    this.#dropTime ??= now;
    const isTooLate = performance.now() - this.#dropTime > resumeTimeoutMs;
    if (isTooLate || lostCloseCodes.has(closeCode)) this.#lose(error);
    if (finalCloseCodes.has(closeCode)) return this.#stop(error);
    const pauseMs = this.#pauseMs * (1 + Math.random() / 2);
    const { reconnectMs } = this.#limits;
    if (now + pauseMs - this.#goodTime > reconnectMs) {
      const why = `no connection has lasted for ${reconnectMs} ms; to try for longer, raise reconnectMs`;
      return this.#stop(new TurngraphError(1001, 'CONNECTION_FAILED', `${error.sentence}; ${why}`));
    }
    this.#timer = setTimeout(() => this.#connect(), pauseMs);
    this.#pauseMs = Math.min(2 * this.#pauseMs, maxPauseMs);
  }

  /** The session is lost: the client knows it first, then each pending request fails. */
  #lose(error) {
    const session = this.#session;
    this.#session = undefined;
    this.#notReady();
    session?.end(error);
  }

  #fail(error) {
    this.#tell(this.#onLost, error);
    this.#stop(error);
  }

  #stop(error) {
    this.#isStopped = true;
    this.#stopError = error;
    clearTimeout(this.#timer);
    this.#lose(error);
    this.#ready.reject(error);
    this.#connection?.end(error);
  }

  #notReady() {
    if (this.#isReady) this.#ready = createDeferred();
    this.#isReady = false;
  }

  /** Calls a function of the page. What it throws is an error of the page, and stops nothing here. */
  #tell(callback, ...values) {
    queueMicrotask(() => callback?.(...values));
  }
}

/** One conversation. It outlives connections. */
class Agent {
  /** The dialog after the last turn, as JSON text to save; at first that of `createAgent`, undefined without one. */
  historyJson;
  /** Warnings of the server about the graph. */
  warnings = [];
  #client;
  #fields;
  #id = 0;

  constructor(client, { history, historyJson = toJson(history ?? undefined), graph, ...fields }) {
    this.#client = client;
    this.#fields = typeof graph === 'string' ? { ...fields, graphJson: graph } : { ...fields, graph };
    this.historyJson = historyJson;
  }

  /**
   * Sends one message of the user. `onText` is called with each piece of the answer, `onField` with the name and the
   * value of each of its fields, `onCall` with each toolCallNotification, whose `arguments` are parsed. `tools` has functions by
   * name, called as `(arguments, { call })`: what one returns goes back to a turn that waits for it (`call.awaitsResult`), and
   * what it throws as the message of a failure.
   *
   * Resolves with the turnComplete, its `text`, `fields` and `calls`; the status is SUCCESS or CANCELLED. Rejects when the turn
   * fails, and with 1002 when the session is lost; the turn is lost then, too.
   */
  async send(text, { variables = {}, priority = 'NORMAL', tools, onText, onField, onCall } = {}) {
    let answer = '';
    // Without a prototype: a field may have any name.
    const fields = Object.create(null);
    const calls = [];
    const body = { agentId: this.#id, text, variables, priority };
    const complete = await this.#client.request('sendMessage', body, (message, frame) => {
      if (message === 'answerText' && frame.text) {
        // What the client itself has sent is shown, but is no part of the answer.
        if (frame.source !== 'client') answer += frame.text;
        onText?.(frame.text, frame);
      }
      if (message === 'answerField') {
        fields[frame.name] = JSON.parse(frame.valueJson);
        onField?.(frame.name, fields[frame.name], frame);
      }
      if (message !== 'toolCallNotification') return;
      const call = { ...frame, arguments: parseArguments(frame.typedArgumentsJson) };
      calls.push(call);
      onCall?.(call);
      if (tools) void this.#run(call, tools);
    });
    // If the session is lost now, the turn is complete all the same; the saved dialog is without it.
    await this.exportDialog().catch(() => undefined);
    const { status = 'SUCCESS', stopReason = 'NONE', warnings = [] } = complete;
    const turn = { ...complete, status, stopReason, warnings, text: answer, fields, calls };
    if (status === 'ERROR') throw Object.assign(toError(turn.error ?? {}), { turn });
    return turn;
  }

  async #run(call, tools) {
    const result = await runTool(call, tools);
    if (!call.awaitsResult) {
      if (!result.ok) console.error(`the call of ${call.toolName} failed: ${result.content}`);
      return;
    }
    // It is late, or the turn has ended: nobody waits for it.
    await this.submitToolResults([{ callId: call.callId, ...result }]).catch(() => undefined);
  }

  /** Submits results of calls to the turn that waits for them: a list of `{ callId, content, ok }`; `ok` is true by default. */
  submitToolResults(results) {
    return this.#client.request('submitToolResults', {
      agentId: this.#id,
      results: results.map((result) => ({ ok: true, ...result })),
    });
  }

  /** An older name of `submitToolResults`. */
  submitResults(results) {
    return this.submitToolResults(results);
  }

  /**
   * Adds a line to the dialog, also while a turn runs: between its message and its answer. `role` is "assistant" or "user"; with
   * `notify` the turn gets it as a text whose source is "client".
   */
  async appendText(text, { role = 'assistant', notify = false } = {}) {
    await this.#client.request('appendText', { agentId: this.#id, text, role, notify });
    await this.exportDialog();
  }

  /** Says who answers from now on: the graph ("AUTO"), or people ("MANUAL"), by `appendText`; messages are then only kept. */
  async setAgentMode(mode) {
    await this.#client.request('setAgentMode', { agentId: this.#id, mode });
    await this.exportDialog();
  }

  /** Sets variables that all later turns have; those of a message win. null removes one. */
  async setVariables(variables) {
    await this.#client.request('setVariables', { agentId: this.#id, variablesJson: JSON.stringify(variables) });
    await this.exportDialog();
  }

  /** Changes live parameters of a node between turns: those that are given; null restores the default. */
  changeParams(nodeName, params) {
    const body = { agentId: this.#id, nodeName, paramsJson: JSON.stringify(params) };
    return this.#client.request('changeParams', body);
  }

  /** Cancels the running turn, if there is one; its `send` then resolves with status CANCELLED. */
  cancel() {
    return this.#client.request('cancelTurn', { agentId: this.#id });
  }

  /** Fetches the dialog into `historyJson`. */
  async exportDialog() {
    let parts = '';
    await this.#client.request('exportDialog', { agentId: this.#id }, (message, frame) => {
      if (message === 'exportDialog') parts += frame.historyJson ?? '';
    });
    this.historyJson = parts;
    return parts;
  }

  /** Destroys the agent on the server. */
  destroy() {
    this.#client.forget(this);
    return this.#client.request('destroyAgent', { agentId: this.#id });
  }

  /** Creates the agent in a session. For the client. */
  async create(session) {
    const { agentId = 0, warnings = [] } = await session.request('createAgent', {
      ...this.#fields,
      historyJson: this.historyJson,
    });
    this.#id = agentId;
    this.warnings = warnings;
  }
}

/** A session of the server, on one connection after the other. Its requests are numbered from 1. */
class Session {
  /** Whether it has all agents of the client. */
  isRestored = false;
  #id;
  #resumeToken;
  #connection;
  #limits;
  #isPaused = false;
  #lastSeq;
  #lastNumber = 0;
  /** Requests without a final answer, by number. */
  #pending = new Map();
  #error;

  constructor(connection, lastSeq, limits) {
    this.#limits = limits;
    this.#connection = connection;
    this.#id = connection.sessionReady.sessionId;
    this.#resumeToken = connection.sessionReady.resumeToken;
    this.#lastSeq = lastSeq;
  }

  /** The resumeSession of this session. */
  get position() {
    return { sessionId: this.#id, resumeToken: this.#resumeToken, lastSeq: this.#lastSeq };
  }

  async request(message, body, onFrame) {
    if (this.#error) throw this.#error;
    const number = this.#lastNumber + 1;
    const data = JSON.stringify({ requestId: number, [message]: body });
    refuseLong(data, message, body);
    this.#lastNumber = number;
    const request = { ...createDeferred(), message, body, data, onFrame, size: 0, progress: '', isGivenUp: false };
    this.#pending.set(number, request);
    this.#startTimer(request);
    this.#connection?.send(data);
    return request.promise;
  }

  #startTimer(request) {
    const { message } = request;
    const isSlow = slowRequests.has(message);
    const limitMs = isSlow ? this.#limits.idleMs : this.#limits.requestMs;
    const what = isSlow ? `nothing new for ${limitMs} ms` : `no answer within ${limitMs} ms`;
    const advice = `if it may take longer, raise ${isSlow ? 'idleMs' : 'requestMs'}`;
    clearTimeout(request.timer);
    request.timer = setTimeout(() => {
      if (isSlow && this.#isPaused) this.#startTimer(request);
      else this.#giveUp(request, new TurngraphError(1003, 'TIMEOUT', `${message} had ${what}; ${advice}`));
    }, limitMs);
  }

  /** Rejects a request, and tells the server to stop. It stays pending: the server counts its frame. */
  #giveUp(request, error) {
    const { message, body } = request;
    request.isGivenUp = true;
    clearTimeout(request.timer);
    request.reject(error);
    if (message === 'sendMessage') this.request('cancelTurn', { agentId: body.agentId }).catch(() => undefined);
    if (message === 'downloadModel') {
      this.request('cancelDownload', { modelName: body.modelName }).catch(() => undefined);
    }
  }

  /** Counts a message of an answer. */
  #count(request, message, body, size) {
    const { answerBytes } = this.#limits;
    request.size += size;
    const progress = message === 'modelProgress' ? JSON.stringify(body) : '';
    if (slowRequests.has(request.message) && (progress === '' || progress !== request.progress)) {
      this.#startTimer(request);
    }
    request.progress = progress;
    if (request.size <= answerBytes) return;
    const what = `the answer to ${request.message} has more than ${answerBytes} bytes`;
    const why = `${what}; ask for less, or raise answerBytes`;
    this.#giveUp(request, new TurngraphError(2005, 'LIMIT_EXCEEDED', why));
  }

  /** Takes a frame. Returns whether it brings something new for a request of the program. */
  take({ requestId, seq, ...messages }, size) {
    // A field that is absent, or null, has its default.
    if (seq) {
      // Received before the connection ended.
      if (seq <= this.#lastSeq) return false;
      if (seq > this.#lastSeq + 1) throw dropped(`the server sent frame ${seq} after frame ${this.#lastSeq}`);
      this.#lastSeq = seq;
    }
    for (const [message, body] of Object.entries(messages)) {
      const request = this.#pending.get(requestId);
      if (!request) return false;
      if (body === null || typeof body !== 'object') continue;
      if (!request.isGivenUp) this.#count(request, message, body, size);
      try {
        if (!request.isGivenUp) request.onFrame?.(message, body);
      } catch (thrown) {
        this.#giveUp(request, thrown);
      }
      if (message !== 'error' && !isFinal(request.message, message, body)) continue;
      this.#pending.delete(requestId);
      clearTimeout(request.timer);
      if (message === 'error') request.reject(toError(body));
      else request.resolve(body);
      if (message === 'ack' && request.message === 'setPace') this.#isPaused = request.body.paused === true;
    }
    return Boolean(seq) && this.isRestored;
  }

  detach() {
    this.#connection = undefined;
  }

  /** Goes on with another connection: sends again what the server has not received. */
  resume(connection, requestsReceived) {
    this.#connection = connection;
    for (let number = requestsReceived + 1; number <= this.#lastNumber; number++) {
      const request = this.#pending.get(number);
      if (!request) throw dropped(`the server has received ${requestsReceived} requests, and has answered ${number}`);
      connection.send(request.data);
    }
  }

  end(error) {
    this.#error = error;
    this.#connection = undefined;
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#pending.clear();
  }
}

/** One WebSocket, until it ends. */
class Connection {
  /** The sessionReady of the session that began with it. */
  sessionReady;
  /** Resolves when the WebSocket is closed. */
  closed;
  #isEnded = false;
  #socket;
  #onEnd;
  #error;

  constructor(url, { onMessage, onEnd }) {
    this.#onEnd = onEnd;
    this.#error = new TurngraphError(
      1001,
      'CONNECTION_FAILED',
      `cannot connect to ${url.host}; is the server running? Its log says why`,
    );
    this.#socket = new WebSocket(url, 'turngraph.v1.json');
    this.#socket.addEventListener('message', ({ data }) => {
      if (!this.#isEnded) onMessage(data);
    });
    this.closed = new Promise((resolve) => {
      this.#socket.addEventListener('close', ({ code, reason }) => {
        this.end(dropped(`the connection ended (${code} ${reason})`), code);
        resolve();
      });
    });
  }

  /** Takes the first frame of the server. */
  begin(sessionReady) {
    this.sessionReady = sessionReady;
    this.#error = undefined;
  }

  /** Takes the reason of a close that follows. */
  explain(error) {
    this.#error = error;
  }

  send(data) {
    // A socket that is closing drops what it is given. The session sends it again, or is lost.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(data);
  }

  end(error, closeCode) {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onEnd(this.#error ?? error, closeCode);
    this.#socket.close();
  }
}

/** The server closes the connection of a frame that is too long, so none is sent. */
function refuseLong(data, message, body) {
  const bytes = sizeOf(data);
  if (bytes <= maxFrameBytes) return;
  const [[longest]] = Object.entries(body).sort(([, a], [, b]) => sizeOf(toJson(b)) - sizeOf(toJson(a)));
  const what = `${message} has ${bytes} bytes, most of them in ${longest}`;
  const limit = `a frame may have ${maxFrameBytes}; nothing was sent: send less at a time`;
  throw new TurngraphError(5003, 'FRAME_TOO_LARGE', `${what}, and ${limit}`);
}

function sizeOf(text = '') {
  return new TextEncoder().encode(text).length;
}

function toError({ code, name, message }) {
  return new TurngraphError(code ?? 0, name ?? '', message ?? '');
}

function toJson(document) {
  return typeof document === 'string' ? document : JSON.stringify(document);
}

function parseArguments(json) {
  try {
    return JSON.parse(json || '{}');
  } catch (error) {
    throw new TurngraphError(
      5001,
      'MALFORMED_MESSAGE',
      `the server sent typedArgumentsJson that is no JSON: ${error.message}`,
    );
  }
}

/** Runs a call. Resolves with its result, `{ ok, content }`. */
async function runTool(call, tools) {
  const { toolName, nodeName, known, issues } = call;
  try {
    if (!Object.hasOwn(tools, toolName)) throw new Error(`no tool "${toolName}" is registered`);
    // The server has not checked such a call.
    if (!known) throw new Error(`${nodeName} offers no tool "${toolName}"`);
    const wrong = (issues ?? []).filter(({ code }) => blockingIssues.has(code));
    if (wrong.length > 0) throw new Error(`invalid arguments: ${wrong.map(({ message }) => message).join('; ')}`);
    const value = await tools[toolName](call.arguments, { call });
    return toResult('result', true, value === undefined ? 'ok' : toJson(value));
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return toResult('error', false, message || 'the tool failed');
  }
}

function toResult(what, ok, text) {
  // Half of a character is in no frame.
  const content = String(text).toWellFormed();
  const bytes = sizeOf(content);
  if (bytes <= maxResultBytes) return { ok, content };
  return { ok: false, content: `the ${what} has ${bytes} bytes, and ${maxResultBytes} are allowed` };
}

/** Whether a message is the last of the answer to a request. Unknown messages are not: a newer server may send them. */
function isFinal(request, message, body) {
  if (message === request) return (body.part ?? 0) === (body.of ?? 0);
  return message === 'ack' || message === 'turnComplete';
}

/** A promise with its functions. Its rejection is no error of the page if nobody waits for it. */
function createDeferred() {
  const deferred = {};
  deferred.promise = new Promise((resolve, reject) => Object.assign(deferred, { resolve, reject }));
  deferred.promise.catch(() => undefined);
  return deferred;
}
