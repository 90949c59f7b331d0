import envPaths from 'env-paths';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundledPath } from '../base/packageFiles.ts';
import { gpuChoices, type GpuLayers } from '../inference/contract/engine.ts';
import { createReader, type FromSchema, type ReadResult, type Schema } from '../protocol/schema.ts';
import { array, boolean, integer, number, partialObject, string } from '../protocol/schemaBuilders.ts';

// Kinds of options, each with its default and its text in `--help`.
const text = (description: string) => string({ default: '' }, description);

const flag = (description: string) => boolean({ default: false }, description);

const choice = <const Value extends string>(values: readonly Value[], standard: Value, description: string) =>
  string({ enum: values, default: standard }, description);

const list = <const Item extends Schema>(items: Item, description: string) =>
  array({ items, default: [] }, description);

type Bounds = Pick<Schema, 'minimum' | 'exclusiveMinimum' | 'maximum'>;

const whole = (standard: number, description: string, bounds: Bounds = { minimum: 0 }) =>
  integer({ ...bounds, default: standard }, description);

/** A limit, of which there is at least one. */
const limit = (standard: number, description: string) => whole(standard, description, { minimum: 1 });

// The longest delay of a Node timer: 2^31 - 1 ms.
const maxTimerSeconds = 2_147_483;

const seconds = (standard: number, description: string, bounds: Bounds = { minimum: 0 }) =>
  number({ ...bounds, maximum: maxTimerSeconds, default: standard }, description);

const aboveZero: Bounds = { exclusiveMinimum: 0 };

// What an Origin header can be. The default port of a scheme is never in it.
const originPattern =
  '^(null|(?!http:.*:80$)(?!https:.*:443$)[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\\[[a-f0-9:.]+\\])?(:[0-9]{1,5})?)$';

const hostItem = string(
  { pattern: '^([A-Za-z0-9._-]+|\\[[A-Fa-f0-9:.]+\\])$' },
  'a name or address without a port, such as game.local',
);

const originItem = string(
  { pattern: originPattern },
  "an origin as browsers send it: scheme://host[:port] in small letters, without a path, the scheme's own port or *, " +
    'such as https://game.example or http://localhost:8000; file:// or null for files',
);

/** The single source of truth for the flags of `turngraph serve`, their environment variables, defaults and help. */
export const serverSchema = partialObject({
  port: whole(9100, 'TCP port to listen on; 0 = any free port', { minimum: 0, maximum: 65535 }),
  host: string({ default: '127.0.0.1' }, 'address to listen on; anything but loopback requires --token'),
  token: text('secret that clients must send'),
  allowHost: list(hostItem, 'additional names to accept in the Host header, without ports'),
  allowOrigin: list(originItem, 'additional origins of web pages to accept, such as https://game.example'),
  serverName: string(
    { pattern: '^[A-Za-z0-9_-]{0,32}$', default: '' },
    'start of session ids, by which a load balancer finds the server: up to 32 letters, digits, _ or -; default: random',
  ),
  behindBalancer: flag(
    'refuse connections above a limit with HTTP status 503, so that a load balancer tries another server',
  ),
  openai: flag('serve the OpenAI-compatible API under /v1, too'),
  page: text('folder of your web page at /; default: the playground'),
  playground: boolean({ default: true }, 'serve no playground at /'),
  graphs: text(
    'folder of graphs that clients can use by name; default: ./graphs, or the bundled one if it does not exist',
  ),
  catalogue: text('file of the model catalogue; default: ./models.json, or the bundled one if it does not exist'),
  watchModels: choice(['on', 'off'], 'on', 'whether changes of the model catalogue apply without a restart'),
  models: text("folder of downloaded models; default: in the user's data folder"),
  extend: list({ type: 'string' }, 'modules that export your own node types and tool-call formats'),
  storageRoot: text('folder of string storages; default: the graphs folder, for a graph file its own folder'),
  memory: text('folder of the storages that clients keep (persist); default: none is kept'),
  preload: list({ type: 'string' }, 'models to load at start and to keep in memory'),
  slots: whole(
    0,
    'slots (KV caches) per model: how many sequences are in memory at a time; 0 = 4, and up to 16 on demand',
    { minimum: 0, maximum: 256 },
  ),
  cache: text(
    "folder of data that can be recreated: swapped KV states, prompt cache, thread timings; default: the user's cache folder",
  ),
  cacheLimit: whole(
    2048,
    'max megabytes of swapped KV states, the prompt cache and the vectors of storages in the cache folder; 0 = none',
  ),
  engineProcess: choice(
    ['child', 'in'],
    'child',
    'where models run: child = a process for each, in = in the process of the server',
  ),
  llamaServer: text(
    'path of a llama-server binary, in which all chat models from files run; default: only those with the engine llama-server do, in that on the PATH',
  ),
  processPriority: choice(
    ['normal', 'below-normal', 'low'],
    'below-normal',
    'priority of engine processes in the operating system, so that the game goes first',
  ),
  threads: whole(
    0,
    'threads for inference; 0 = chosen for decode and for prefill, fewer while other programs need the cores',
    { minimum: 0, maximum: 1024 },
  ),
  gpu: choice(gpuChoices, 'auto', 'what models run on: the best there is, the CPU only, or a backend by name'),
  gpuLayers: string(
    { pattern: '^(auto|[0-9]{1,4})$', default: 'auto' },
    'auto or a number: layers of each model on the graphics card; auto = as many as fit',
  ),
  gpuDevice: whole(-1, 'the graphics card to use, from 0; -1 = all of them; for --engine-process child only', {
    minimum: -1,
    maximum: 63,
  }),
  memoryLimit: whole(0, 'max megabytes of RAM that all models, contexts and caches take together; 0 = no limit'),
  vramLimit: whole(0, 'max megabytes of memory of graphics cards that they take together; 0 = no limit'),
  modelIdle: seconds(300, 'seconds until an unused model is unloaded'),
  loadTimeout: seconds(
    120,
    'seconds without progress after which an engine process that loads a model is ended',
    aboveZero,
  ),
  mockScript: text('script file with the answers of the mock engine, by message, node and number of the inference'),
  turnTimeout: seconds(120, 'max seconds per turn', aboveZero),
  resumeGrace: seconds(
    60,
    'seconds that a session lives without a connection, for a client to resume it; 0 = no resume',
  ),
  maxReplayBytes: whole(4_194_304, 'bytes of sent frames that are kept per session, for a client that resumes it'),
  maxConnections: limit(64, 'max open connections'),
  maxConnectionRate: limit(20, 'max new connections per second'),
  handshakeTimeout: seconds(10, 'max seconds per handshake', aboveZero),
  maxRequests: limit(1024, 'max unanswered requests per connection'),
  maxQueuedBytes: limit(4_194_304, 'bytes of waiting requests above which a connection is not read'),
  maxTotalQueuedBytes: limit(67_108_864, 'bytes of waiting requests above which connections take turns to be read'),
  maxNodes: limit(256, 'max nodes per graph'),
  maxTools: limit(128, 'max tools per node'),
  maxSteps: limit(4096, 'max steps per turn that a client can ask for'),
  maxAgents: limit(256, 'max agents per session'),
  maxMessageBytes: limit(262144, 'max bytes per user message'),
  maxPatterns: limit(10_000, 'max entries per string storage'),
  maxKnowledgeEntries: limit(100_000, 'max entries per KNOWLEDGE storage'),
  maxKnowledgeBytes: limit(134_217_728, 'max bytes of all KNOWLEDGE storages of a session'),
  maxMemoryBytes: limit(16_777_216, 'max bytes of the file of a storage in the memory folder'),
  logLevel: choice(['silent', 'error', 'warn', 'info', 'debug'], 'info', 'how much to log'),
  logFile: text('file to log to instead of stderr, with rotation: 5 files of 10 MB'),
  json: flag('print JSON, for programs'),
  parentPid: whole(0, 'stop when the process with this id ends; 0 = off'),
  stdin: flag('stop when stdin closes'),
  portFile: text('file to write the JSON line to that names the port'),
});

/** Server options, with all defaults filled in. */
export type ServerOptions = FromSchema<typeof serverSchema>;
export type OptionSchema = Schema & { readonly description: string };

export const variablePrefix = 'TURNGRAPH_';

/** The environment variable of an option: `maxNodes` -> `TURNGRAPH_MAX_NODES`. */
export const variableOf = (option: string): string =>
  `${variablePrefix}${option.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`;

const read = createReader(serverSchema);

/** Validates server options and fills in their defaults, paths included. */
export function readServerOptions(options: unknown): ReadResult<ServerOptions> {
  const reading = read(options);
  if (!reading.ok) return reading;
  const { graphs, catalogue, models, cache } = reading.value;
  const folders = envPaths('turngraph', { suffix: '' });
  const paths = {
    graphs: graphs || ownOrBundled('graphs'),
    catalogue: catalogue || ownOrBundled('models.json'),
    models: models || join(folders.data, 'models'),
    cache: cache || folders.cache,
  };
  return { ok: true, value: { ...reading.value, ...paths } };
}

/** The server options when no flag and no variable is set. */
export function defaultServerOptions(): ServerOptions {
  const reading = readServerOptions({});
  if (!reading.ok) throw new TypeError('the defaults of the server options do not fit their schema');
  return reading.value;
}

// The file or folder of the working directory, or the bundled one.
const ownOrBundled = (name: string): string => (existsSync(name) ? name : bundledPath(name));

/** Reads the text of a flag, which its schema has checked. */
export const parseGpuLayers = (text: string): GpuLayers => (text === 'auto' ? 'auto' : Number(text));
