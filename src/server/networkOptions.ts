/** The options of the server that say where it listens and who may connect, as JSON Schemas by name. */
export const networkOptions = {
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
    items: { type: 'string' },
    default: [],
    description: 'additional names to accept in the Host header',
  },
  allowOrigin: {
    type: 'array',
    items: { type: 'string' },
    default: [],
    description: 'additional origins of web pages to accept',
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
