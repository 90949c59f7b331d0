import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { sameSecret } from '../../base/sameSecret.ts';
import type { ServerOptions } from '../config.ts';

/** Who may connect: token, Host header and origins. */
type AccessOptions = Pick<ServerOptions, 'token' | 'host' | 'allowHost' | 'allowOrigin'>;

/** Why a request is rejected: an HTTP status and a sentence. */
export interface AccessDenied {
  readonly status: 401 | 403;
  readonly reason: string;
  /** The origin of the page, if that is why. */
  readonly origin?: string;
}

/** Checks a request; undefined when access is allowed. */
export type AccessCheck = (request: IncomingMessage) => AccessDenied | undefined;

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** Whether an address is a loopback address, which only this machine can reach. */
export const isLoopback = (host: string): boolean =>
  host === '::1' || host === 'localhost' || /^127(\.\d+){3}$/.test(host);

/**
 * Creates the access check of every HTTP request and WebSocket handshake: Host header (against DNS rebinding), Origin
 * (against web pages that connect to a local server) and token. The check returns undefined when access is allowed.
 */
export function createAccessCheck({ token, host, allowHost, allowOrigin }: AccessOptions): AccessCheck {
  const hosts = new Set(
    [...loopback, host, host.includes(':') ? `[${host}]` : host, ...allowHost].map((name) => name.toLowerCase()),
  );
  const origins = new Set(allowOrigin);
  return (request) => {
    const hostHeader = request.headers.host ?? '';
    const name = hostHeader.replace(/:\d+$/, '').toLowerCase();
    if (!hosts.has(name))
      return { status: 403, reason: `Host "${hostHeader}" is not this server; allow it with --allow-host` };
    const { origin } = request.headers;
    if (origin !== undefined && origin !== `http://${hostHeader}` && !origins.has(origin))
      return { status: 403, reason: `Origin "${origin}" may not connect; allow it with --allow-origin`, origin };
    if (token !== '' && !sameSecret(readToken(request), token))
      return { status: 401, reason: 'a token is needed: Authorization: Bearer, or ?token=' };
    return undefined;
  };
}

/** Whether a client that resumes has named a session of this server in the address: `?session=SERVER.RANDOM`. */
export const namesSession = (request: IncomingMessage, serverName: string): boolean =>
  new URLSearchParams(splitTarget(request)[1]).get('session')?.startsWith(`${serverName}.`) ?? false;

function readToken(request: IncomingMessage): string {
  const [, bearer] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (bearer === undefined) return new URLSearchParams(splitTarget(request)[1]).get('token') ?? '';
  // Node reads each byte of a header as a character, and most clients write UTF-8.
  const bytes = Buffer.from(bearer, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : bearer;
}

/** The path and the query of a request. `new URL` is not used: it throws for some targets that a client can send. */
export function splitTarget({ url = '/' }: IncomingMessage): readonly [path: string, query: string] {
  const [path = '/', ...query] = url.split('?');
  return [path, query.join('?')];
}
