import { randomUUID } from 'node:crypto';
import type { CreateAgentRequest } from '../../src/protocol/frames.gen.ts';

/** An agent of a scripted session. */
export interface ScriptedAgent {
  readonly id: number;
  readonly request: CreateAgentRequest;
  /** What exportDialog is answered with: a JSON list of interactions. */
  dialogJson: string;
}

/** A frame that was sent in a session. */
export interface SentFrame {
  readonly seq: number;
  readonly payload: string | Uint8Array;
}

/** What outlives a connection: the state of a session, as PROTOCOL.md describes it. */
export class ScriptedSession {
  readonly id: string = `${randomUUID().slice(0, 8)}.${randomUUID()}`;
  readonly token: string = randomUUID();
  /** The frames that count, in order, for a replay. */
  readonly sent: SentFrame[] = [];
  /** The bytes of all frames that were received, but resumeSession. */
  readonly received: Buffer[] = [];
  /** The ids of requests without a final answer. */
  readonly pending = new Set<number>();
  readonly agents = new Map<number, ScriptedAgent>();
  #lastAgentId = 0;

  /** The number of the next frame. */
  get nextSeq(): number {
    return this.sent.length + 1;
  }

  /** Gives the next agent id away, for an agent that is being created. */
  takeAgentId(): number {
    return ++this.#lastAgentId;
  }

  /** Adds an agent. Returns it. */
  addAgent(id: number, request: CreateAgentRequest): ScriptedAgent {
    const agent = { id, request, dialogJson: request.historyJson || '[]' };
    this.agents.set(id, agent);
    return agent;
  }

  /** Takes back that the last frame was received. Returns its bytes. */
  forgetLastRequest(requestId: number): Buffer {
    this.pending.delete(requestId);
    return this.received.pop() ?? Buffer.alloc(0);
  }
}
