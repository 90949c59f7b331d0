import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Who may connect. */
export interface AccessOptions {
  /** "" = nobody has to show one. */
  readonly token: string;
  /** The address that the server listens on. */
  readonly host: string;
  readonly allowHost: readonly string[];
  readonly allowOrigin: readonly string[];
}

/** Why a request is turned away: an HTTP status and a sentence. */
export interface AccessDenied {
  readonly status: 401 | 403;
  readonly reason: string;
}

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** Whether an address can only be reached from this machine. */
export const isLoopback = (host: string): boolean =>
  host === '::1' || host === 'localhost' || /^127(\.\d+){3}$/.test(host);

/** The check of every HTTP request and every handshake, before anything else happens: a web page must not reach a local server. */
export function createAccessCheck({
  token,
  host,
  allowHost,
  allowOrigin,
}: AccessOptions): (request: IncomingMessage) => AccessDenied | undefined {
  const hosts = new Set(
    [...loopback, host, host.includes(':') ? `[${host}]` : host, ...allowHost].map((name) => name.toLowerCase()),
  );
  const origins = new Set(allowOrigin);
  return (request) => {
    const asked = request.headers.host ?? '';
    const name = asked.replace(/:\d+$/, '').toLowerCase();
    if (!hosts.has(name))
      return { status: 403, reason: `Host "${asked}" is not this server; allow it with --allow-host` };
    const { origin } = request.headers;
    if (origin !== undefined && origin !== `http://${asked}` && !origins.has(origin)) {
      return { status: 403, reason: `Origin "${origin}" may not connect; allow it with --allow-origin` };
    }
    if (token !== '' && !sameSecret(readToken(request), token)) {
      return { status: 401, reason: 'a token is needed: Authorization: Bearer, or ?token=' };
    }
    return undefined;
  };
}

function readToken(request: IncomingMessage): string {
  const [, bearer] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  return bearer ?? new URLSearchParams(splitTarget(request)[1]).get('token') ?? '';
}

/** The path and the query of a request; a URL would throw on some that a client can send. */
export function splitTarget({ url = '/' }: IncomingMessage): readonly [path: string, query: string] {
  const [path = '/', ...query] = url.split('?');
  return [path, query.join('?')];
}

// Equal lengths for a comparison in constant time.
const sameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
