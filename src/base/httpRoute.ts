import { Agent as HttpAgent, type ClientRequest, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** How requests to one origin are sent: directly, or through the proxy that the environment names. */
export interface HttpRoute extends Disposable {
  /** @param options without protocol, host and agent. */
  request(url: URL, options: RequestOptions): ClientRequest;
}

class ProxyError extends Error {}

/** The route to an origin, by HTTPS_PROXY, HTTP_PROXY and NO_PROXY; with TLS through a tunnel. @throws ProxyError */
export function routeTo(origin: URL, env: Environment, keepAlive = false): HttpRoute {
  const proxy = findProxy(origin, env);
  const isTunnelled = proxy !== undefined && origin.protocol === 'https:';
  const nextHop = isTunnelled ? origin : (proxy ?? origin);
  const agent = isTunnelled
    ? new TunnelAgent(proxy, keepAlive)
    : new (nextHop.protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive });
  return {
    request(url, options) {
      if (!proxy || isTunnelled) return send(url, { ...options, agent });
      const headers = { ...(options.headers as object), host: url.host, ...authorization(proxy) };
      return sendToProxy(proxy, { ...options, path: url.href, headers, agent });
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

const send = (url: URL, options: RequestOptions): ClientRequest =>
  (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options);

/** Sends a request to a proxy. That it cannot be reached is said of the proxy, and not of the host behind it. */
const sendToProxy = (proxy: URL, options: RequestOptions): ClientRequest =>
  send(proxy, options).once('error', (error: NodeJS.ErrnoException) => {
    const { message, code = '' } = error;
    const place = `the proxy ${proxy.host}:`;
    if (/^E(?!RR_)/.test(code)) Object.assign(error, { message: `${place} ${message}`, code: `${place} ${code}` });
  });

const authorization = ({ username, password }: URL): Readonly<Record<string, string>> => {
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return user === ':' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` };
};

class TunnelAgent extends HttpsAgent {
  readonly #proxy: URL;

  constructor(proxy: URL, keepAlive: boolean) {
    super({ keepAlive });
    this.#proxy = proxy;
  }

  override createConnection(options: RequestOptions, done?: (error: Error | null, stream: Duplex) => void): undefined {
    const proxy = this.#proxy;
    const finish = done as (error: Error | null, stream?: Duplex | null) => void;
    const target = `${options.host}:${options.port}`;
    const headers = { host: target, ...authorization(proxy) };
    const request = sendToProxy(proxy, { method: 'CONNECT', path: target, headers, agent: false });
    request.once('error', (cause) => finish(cause));
    request.once('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode === 200) return finish(null, super.createConnection({ ...options, socket } as RequestOptions));
      socket.destroy();
      const message = `the proxy ${proxy.host} answers ${statusCode}`;
      finish(statusCode < 500 ? new ProxyError(message) : Object.assign(new Error(message), { code: message }));
    });
    request.end();
  }
}

const defaultPorts: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** The proxy for a URL; undefined: none. @throws ProxyError when the variable has no address of one. */
function findProxy(url: URL, env: Environment): URL | undefined {
  const read = (name: string): string => (env[name] || env[name.toUpperCase()] || '').trim();
  const name = `${url.protocol.slice(0, -1)}_proxy`;
  const text = read(name);
  if (text === '' || isExcluded(url, read('no_proxy'))) return undefined;
  const address = text.includes('://') ? text : `http://${text}`;
  const proxy = URL.canParse(address) ? new URL(address) : undefined;
  if (proxy && /^https?:$/.test(proxy.protocol)) return proxy;
  throw new ProxyError(`${name.toUpperCase()} must be an address like http://host:port`);
}

/** Whether NO_PROXY names a host: by its name, a domain that it is in, or `*`; each may have a port. */
function isExcluded({ hostname, port, protocol }: URL, list: string): boolean {
  const host = hostname.replaceAll(/[[\]]/g, '');
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const [, name = '', ofPort] = /^\[?([^[\]]*?)\]?(?::(\d{1,5}))?$/.exec(entry.replace(/^\*?\./, '')) ?? [];
      const isName = name !== '' && (name === '*' || host === name || host.endsWith(`.${name}`));
      return isName && (ofPort === undefined || ofPort === (port || defaultPorts[protocol]));
    });
}

/** Milliseconds of a Retry-After header, which gives seconds or a date; undefined: it gives none. */
export function parseRetryAfter(header: string | undefined): number | undefined {
  if (!header) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/;

/** Why no other attempt of a request helps: its certificate or its proxy; undefined: one may. */
export function lastingProblem(thrown: unknown): string | undefined {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof ProxyError) return error.message;
    const { code = '' } = error as NodeJS.ErrnoException;
    if (certificateCodes.test(code))
      return `its certificate is not trusted (${code}); if a proxy or your own authority issued it, name the file of that authority's certificate in NODE_EXTRA_CA_CERTS`;
  }
  return undefined;
}
