import type { ClientFrameBodies } from '../../src/protocol/frames.gen.ts';
import type { ScriptedConnection } from './scriptedConnection.ts';

/** A request of one kind, with the bytes of its frame. */
export interface ClientRequest<Name extends keyof ClientFrameBodies> {
  readonly requestId: number;
  readonly fields: ClientFrameBodies[Name];
  readonly bytes: Buffer;
  readonly connection: ScriptedConnection;
}
