import { describeError } from '../protocol/fault.ts';

/** Why an attempt to connect failed, with a hint, from the message of the platform's WebSocket. */
export function connectFailureOf(thrown: unknown): string {
  const message = describeError(thrown);
  if (/ECONNREFUSED/.test(message)) return 'no server listens there; is it running?';
  if (/invalid url|must be/i.test(message)) return 'that is no WebSocket address; give one such as ws://127.0.0.1:9100';
  const [, status = ''] = /server response: (\d{3})/.exec(message) ?? [];
  const hints = new Map([
    ['401', 'the server requires its token, or this one is wrong (401)'],
    ['403', 'the server does not let this host or origin connect (403); see --allow-host and --allow-origin'],
    ['404', 'the WebSocket is at / (404)'],
    ['503', 'the server is shutting down, or has too many connections (503)'],
  ]);
  return hints.get(status) ?? message;
}
