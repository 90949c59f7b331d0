// A client of turngraph for web pages, as one module without a build step. It also runs in Node 22.

const minPauseMs = 250;
const maxPauseMs = 8000;

/** Messages that are followed by others of the same answer. */
const partialMessages = new Set(['answerText', 'toolCallNotification', 'nodeEvent', 'modelProgress']);

/** Close codes that the next attempt would get, too. */
const finalCloseCodes = new Set([1002, 4401, 4406, 4409]);

/** A refused request (the server's code), or a connection that failed (1001) or ended (1002). */
export class TurngraphError extends Error {
  constructor(code, name, message) {
    super(`${code} ${name}: ${message}`);
    this.code = code;
  }
}

/** A connection that is made again whenever it ends, and the agents on it, which are then restored. */
export class Client {
  #url;
  #configuration;
  #onLost;
  #agents = [];
  #connection;
  #pauseMs = minPauseMs;
  #timer;
  #isStopped = false;
  #isReady = false;
  #ready = createDeferred();

  /**
   * Starts to connect. `token` is that of the server, `configuration` the configureSession of each session. `onLost` is called
   * with the error when the connection has ended, and when an attempt to connect has failed.
   */
  constructor(url, { token, configuration, onLost } = {}) {
    this.#url = new URL(url);
    // A page cannot set headers.
    if (token !== undefined) this.#url.searchParams.set('token', token);
    this.#configuration = configuration;
    this.#onLost = onLost;
    this.#connect();
  }

  /**
   * Resolves when the client is connected, all agents are restored, and the server is not shutting down. Rejects when the agents
   * cannot be restored.
   */
  ready() {
    return this.#ready.promise;
  }

  /** Creates an agent; `fields` are those of createAgent, such as graphName. */
  async createAgent(fields) {
    const agent = new Agent(this, fields);
    await agent.create(this);
    this.#agents.push(agent);
    return agent;
  }

  /** Sends any request, such as listModels. Rejects at once when there is no connection. */
  request(message, body, onFrame) {
    if (this.#connection) return this.#connection.request(message, body, onFrame);
    return Promise.reject(new TurngraphError(1002, 'CONNECTION_DROPPED', 'not connected; await ready()'));
  }

  close() {
    this.#stop(new TurngraphError(1002, 'CONNECTION_DROPPED', 'closed by the client'));
  }

  #stop(error) {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#connection?.end(error);
    this.#notReady();
    this.#ready.reject(error);
  }

  #notReady() {
    if (this.#isReady) this.#ready = createDeferred();
    this.#isReady = false;
  }

  #connect() {
    const connection = new Connection(this.#url, {
      onOpen: () => void this.#restore(connection),
      onShutdown: () => this.#notReady(),
      onEnd: (error, mayReturn) => {
        this.#connection = undefined;
        this.#notReady();
        if (!mayReturn) this.#stop(error);
        this.#onLost?.(error);
        if (this.#isStopped) return;
        this.#timer = setTimeout(() => this.#connect(), this.#pauseMs * (1 + Math.random() / 2));
        this.#pauseMs = Math.min(2 * this.#pauseMs, maxPauseMs);
      },
    });
  }

  async #restore(connection) {
    try {
      if (this.#configuration) await connection.request('configureSession', this.#configuration);
      for (const agent of this.#agents) await agent.create(connection);
    } catch (error) {
      // A refusal would be the same at the next attempt, unless the server shuts down.
      if (!connection.isEnded && error.code !== 2001) this.#stop(error);
      connection.end(error);
      return;
    }
    if (connection.isEnded) return;
    this.#pauseMs = minPauseMs;
    this.#connection = connection;
    this.#isReady = true;
    this.#ready.resolve();
  }
}

/** One conversation. It outlives connections. */
class Agent {
  /** The dialog after the last turn, as JSON text to save; undefined before the first turn. */
  historyJson;
  #client;
  #fields;
  #id = 0;

  constructor(client, fields) {
    this.#client = client;
    this.#fields = fields;
  }

  /**
   * Sends one message of the user. `onText` is called with each piece of the answer, `onCall` with each toolCallNotification.
   * Resolves with the turnComplete; when the connection ends, rejects with 1002 at once, and the turn is lost.
   */
  async send(text, { variables = {}, priority = 'NORMAL', onText, onCall } = {}) {
    const body = { agentId: this.#id, text, variables, priority };
    const turn = await this.#client.request('sendMessage', body, (message, frame) => {
      if (message === 'answerText' && frame.text !== '') onText?.(frame.text);
      if (message === 'toolCallNotification') onCall?.(frame);
    });
    // If the connection has ended, the turn is complete all the same; the saved dialog is without it.
    await this.exportDialog().catch(() => undefined);
    return turn;
  }

  /** Cancels the running turn, if there is one; its `send` then resolves with status CANCELLED. */
  cancel() {
    return this.#client.request('cancelTurn', { agentId: this.#id });
  }

  /** Fetches the dialog into `historyJson`. */
  async exportDialog() {
    let parts = '';
    await this.#client.request('exportDialog', { agentId: this.#id }, (message, frame) => {
      if (message === 'exportDialog') parts += frame.historyJson;
    });
    this.historyJson = parts;
    return parts;
  }

  /** Creates the agent in the session of a connection. For the client. */
  async create(connection) {
    const saved = this.historyJson !== undefined && { history: undefined, historyJson: this.historyJson };
    const body = { ...this.#fields, ...saved };
    this.#id = (await connection.request('createAgent', body)).agentId;
  }
}

/** One WebSocket, until it ends. */
class Connection {
  isEnded = false;
  #socket;
  #callbacks;
  #pending = new Map();
  #lastId = 0;
  #error;

  constructor(url, callbacks) {
    this.#callbacks = callbacks;
    this.#error = new TurngraphError(
      1001,
      'CONNECTION_FAILED',
      `cannot connect to ${url.host}; the server's log says why`,
    );
    this.#socket = new WebSocket(url, 'turngraph.v1.json');
    this.#socket.addEventListener('open', () => {
      this.#error = undefined;
      callbacks.onOpen();
    });
    this.#socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(data)));
    this.#socket.addEventListener('close', ({ code, reason }) => {
      const error = new TurngraphError(1002, 'CONNECTION_DROPPED', `the connection ended (${code} ${reason})`);
      this.end(error, !finalCloseCodes.has(code));
    });
  }

  /** Sends one request. Resolves with the final answer; `onFrame` gets each frame of the answer, the last one included. */
  request(message, body, onFrame) {
    // A socket that is closing drops what it is given, and says nothing.
    if (this.isEnded || this.#socket.readyState !== WebSocket.OPEN) {
      return Promise.reject(new TurngraphError(1002, 'CONNECTION_DROPPED', 'the connection ended'));
    }
    const id = ++this.#lastId;
    const request = { ...createDeferred(), onFrame };
    this.#pending.set(id, request);
    this.#socket.send(JSON.stringify({ requestId: id, [message]: body }));
    return request.promise;
  }

  /** Ends the connection: its owner learns it first, then each pending request fails. */
  end(error, mayReturn = true) {
    if (this.isEnded) return;
    this.isEnded = true;
    const reason = this.#error ?? error;
    this.#callbacks.onEnd(reason, mayReturn);
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
    this.#socket.close();
  }

  #take({ requestId, ...others }) {
    for (const [message, body] of Object.entries(others)) {
      if (message === 'seq') continue;
      const error = message === 'error' ? new TurngraphError(body.code, body.name, body.message) : undefined;
      // It is followed by the close.
      if (requestId === 0 && error) this.#error = error;
      const request = this.#pending.get(requestId);
      if (!request) return;
      let failure = error;
      try {
        request.onFrame?.(message, body);
      } catch (thrown) {
        failure = thrown;
      }
      if (!failure && !isFinal(message, body)) return;
      this.#pending.delete(requestId);
      if (error?.code === 2001) this.#callbacks.onShutdown();
      if (failure) request.reject(failure);
      else request.resolve(body);
    }
  }
}

function isFinal(message, body) {
  if (message === 'exportDialog') return body.part === body.of;
  return !partialMessages.has(message);
}

/** A promise with its functions. Its rejection is no error of the page if nobody waits for it. */
function createDeferred() {
  const deferred = {};
  deferred.promise = new Promise((resolve, reject) => Object.assign(deferred, { resolve, reject }));
  deferred.promise.catch(() => undefined);
  return deferred;
}
