import envPaths from 'env-paths';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Limits } from '../graph/compile/node.ts';
import { bundledPath } from '../base/packageFiles.ts';
import { gpuChoices, type GpuLayers } from '../inference/contract/engine.ts';
import { createReader, type FromSchema, type ObjectSchema, type ReadResult, type Schema } from '../protocol/schema.ts';

/** The options of the server that limit memory, as JSON Schemas by name. */
const memoryOptions = {
  memoryLimit: {
    type: 'integer',
    minimum: 0,
    default: 0,
    description: 'max megabytes of RAM that all models, contexts and caches take together; 0 = no limit',
  },
  vramLimit: {
    type: 'integer',
    minimum: 0,
    default: 0,
    description: 'max megabytes of memory of graphics cards that they take together; 0 = no limit',
  },
} as const;

// What an Origin header can be. The default port of a scheme is never in it.
const originPattern =
  '^(null|(?!http:.*:80$)(?!https:.*:443$)[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\\[[a-f0-9:.]+\\])?(:[0-9]{1,5})?)$';

/** The options of the server that say where it listens and who may connect, as JSON Schemas by name. */
const networkOptions = {
  port: {
    type: 'integer',
    minimum: 0,
    maximum: 65535,
    default: 9100,
    description: 'TCP port to listen on; 0 = any free port',
  },
  host: {
    type: 'string',
    default: '127.0.0.1',
    description: 'address to listen on; anything but loopback requires --token',
  },
  token: { type: 'string', default: '', description: 'secret that clients must send' },
  allowHost: {
    type: 'array',
    items: {
      type: 'string',
      pattern: '^([A-Za-z0-9._-]+|\\[[A-Fa-f0-9:.]+\\])$',
      description: 'a name or address without a port, such as game.local',
    },
    default: [],
    description: 'additional names to accept in the Host header, without ports',
  },
  allowOrigin: {
    type: 'array',
    items: {
      type: 'string',
      pattern: originPattern,
      description:
        "an origin as browsers send it: scheme://host[:port] in small letters, without a path, the scheme's own port or *, " +
        'such as https://game.example or http://localhost:8000; file:// or null for files',
    },
    default: [],
    description: 'additional origins of web pages to accept, such as https://game.example',
  },
  serverName: {
    type: 'string',
    pattern: '^[A-Za-z0-9_-]{0,32}$',
    default: '',
    description:
      'start of session ids, by which a load balancer finds the server: up to 32 letters, digits, _ or -; default: random',
  },
  behindBalancer: {
    type: 'boolean',
    default: false,
    description: 'refuse connections above a limit with HTTP status 503, so that a load balancer tries another server',
  },
} as const;

// The longest delay of a Node timer: 2^31 - 1 ms.
const maxTimerSeconds = 2_147_483;

/** The options of the server about graphics cards, as JSON Schemas by name. */
const gpuOptions = {
  gpu: {
    type: 'string',
    enum: gpuChoices,
    default: 'auto',
    description: 'what models run on: the best there is, the CPU only, or a backend by name',
  },
  gpuLayers: {
    type: 'string',
    pattern: '^(auto|[0-9]{1,4})$',
    default: 'auto',
    description: 'auto or a number: layers of each model on the graphics card; auto = as many as fit',
  },
  gpuDevice: {
    type: 'integer',
    minimum: -1,
    maximum: 63,
    default: -1,
    description: 'the graphics card to use, from 0; -1 = all of them; for --engine-process child only',
  },
} as const;

/**
 * Server options as a JSON Schema: the single source of truth for the flags of `turngraph serve`, their environment
 * variables, defaults and `--help` text.
 */
export const serverSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...networkOptions,
    openai: { type: 'boolean', default: false, description: 'serve the OpenAI-compatible API under /v1, too' },
    page: { type: 'string', default: '', description: 'folder of your web page at /; default: the playground' },
    graphs: {
      type: 'string',
      default: '',
      description:
        'folder of graphs that clients can use by name; default: ./graphs, or the bundled one if it does not exist',
    },
    catalogue: {
      type: 'string',
      default: '',
      description: 'file of the model catalogue; default: ./models.json, or the bundled one if it does not exist',
    },
    watchModels: {
      type: 'string',
      enum: ['on', 'off'],
      default: 'on',
      description: 'whether changes of the model catalogue apply without a restart',
    },
    models: {
      type: 'string',
      default: '',
      description: "folder of downloaded models; default: in the user's data folder",
    },
    extend: {
      type: 'array',
      items: { type: 'string' },
      default: [],
      description: 'modules that export your own node types and tool-call formats',
    },
    storageRoot: {
      type: 'string',
      default: '',
      description: 'folder of string storages; default: the graphs folder, for a graph file its own folder',
    },
    preload: {
      type: 'array',
      items: { type: 'string' },
      default: [],
      description: 'models to load at start and to keep in memory',
    },
    slots: {
      type: 'integer',
      minimum: 0,
      maximum: 256,
      default: 0,
      description:
        'slots (KV caches) per model: how many sequences are in memory at a time; 0 = 4, and up to 16 on demand',
    },
    cache: {
      type: 'string',
      default: '',
      description:
        "folder of data that can be recreated: swapped KV states, prompt cache, thread timings; default: the user's cache folder",
    },
    cacheLimit: {
      type: 'integer',
      minimum: 0,
      default: 2048,
      description:
        'max megabytes of swapped KV states, the prompt cache and the vectors of storages in the cache folder; 0 = none',
    },
    engineProcess: {
      type: 'string',
      enum: ['child', 'in'],
      default: 'child',
      description: 'where models run: child = a process for each, in = in the process of the server',
    },
    processPriority: {
      type: 'string',
      enum: ['normal', 'below-normal', 'low'],
      default: 'below-normal',
      description: 'priority of engine processes in the operating system, so that the game goes first',
    },
    threads: {
      type: 'integer',
      minimum: 0,
      maximum: 1024,
      default: 0,
      description:
        'threads for inference; 0 = chosen for decode and for prefill, fewer while other programs need the cores',
    },
    ...gpuOptions,
    ...memoryOptions,
    modelIdle: {
      type: 'number',
      minimum: 0,
      maximum: maxTimerSeconds,
      default: 300,
      description: 'seconds until an unused model is unloaded',
    },
    loadTimeout: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: maxTimerSeconds,
      default: 120,
      description: 'seconds without progress after which an engine process that loads a model is ended',
    },
    mockScript: {
      type: 'string',
      default: '',
      description: 'script file with the answers of the mock engine, by message, node and number of the inference',
    },
    turnTimeout: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: maxTimerSeconds,
      default: 120,
      description: 'max seconds per turn',
    },
    resumeGrace: {
      type: 'number',
      minimum: 0,
      maximum: maxTimerSeconds,
      default: 60,
      description: 'seconds that a session lives without a connection, for a client to resume it; 0 = no resume',
    },
    maxReplayBytes: {
      type: 'integer',
      minimum: 0,
      default: 4_194_304,
      description: 'bytes of sent frames that are kept per session, for a client that resumes it',
    },
    maxConnections: { type: 'integer', minimum: 1, default: 64, description: 'max open connections' },
    maxConnectionRate: { type: 'integer', minimum: 1, default: 20, description: 'max new connections per second' },
    handshakeTimeout: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: maxTimerSeconds,
      default: 10,
      description: 'max seconds per handshake',
    },
    maxRequests: { type: 'integer', minimum: 1, default: 1024, description: 'max unanswered requests per connection' },
    maxQueuedBytes: {
      type: 'integer',
      minimum: 1,
      default: 4_194_304,
      description: 'bytes of waiting requests above which a connection is not read',
    },
    maxTotalQueuedBytes: {
      type: 'integer',
      minimum: 1,
      default: 67_108_864,
      description: 'bytes of waiting requests above which connections take turns to be read',
    },
    maxNodes: { type: 'integer', minimum: 1, default: 256, description: 'max nodes per graph' },
    maxTools: { type: 'integer', minimum: 1, default: 128, description: 'max tools per node' },
    maxSteps: {
      type: 'integer',
      minimum: 1,
      default: 4096,
      description: 'max steps per turn that a client can ask for',
    },
    maxAgents: { type: 'integer', minimum: 1, default: 256, description: 'max agents per session' },
    maxMessageBytes: { type: 'integer', minimum: 1, default: 262144, description: 'max bytes per user message' },
    maxPatterns: { type: 'integer', minimum: 1, default: 10_000, description: 'max entries per string storage' },
    maxKnowledgeEntries: {
      type: 'integer',
      minimum: 1,
      default: 100_000,
      description: 'max entries per KNOWLEDGE storage',
    },
    maxKnowledgeBytes: {
      type: 'integer',
      minimum: 1,
      default: 134_217_728,
      description: 'max bytes of all KNOWLEDGE storages of a session',
    },
    logLevel: {
      type: 'string',
      enum: ['silent', 'error', 'warn', 'info', 'debug'],
      default: 'info',
      description: 'how much to log, to stderr',
    },
    json: { type: 'boolean', default: false, description: 'print JSON, for programs' },
    parentPid: {
      type: 'integer',
      minimum: 0,
      default: 0,
      description: 'stop when the process with this id ends; 0 = off',
    },
    stdin: { type: 'boolean', default: false, description: 'stop when stdin closes' },
    portFile: { type: 'string', default: '', description: 'file to write the JSON line to that names the port' },
  },
} as const satisfies ObjectSchema;

/** Server options, with all defaults filled in. */
export type ServerOptions = FromSchema<typeof serverSchema>;

/** The schema of one option. */
export type OptionSchema = Schema & { readonly description: string };

/** The environment variable of an option: `maxNodes` -> `TURNGRAPH_MAX_NODES`. */
export const variableOf = (option: string): string => `TURNGRAPH_${option.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`;

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

/** The limits that the options set. */
export const limitsOf = (options: ServerOptions): Limits => ({
  agents: options.maxAgents,
  messageBytes: options.maxMessageBytes,
  patterns: options.maxPatterns,
  knowledgeEntries: options.maxKnowledgeEntries,
  knowledgeBytes: options.maxKnowledgeBytes,
  requests: options.maxRequests,
  nodes: options.maxNodes,
  tools: options.maxTools,
  steps: options.maxSteps,
});
/** Reads the text of a flag, which its schema has checked. */
export const parseGpuLayers = (text: string): GpuLayers => (text === 'auto' ? 'auto' : Number(text));
