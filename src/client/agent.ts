import type { Connection } from './connection.ts';
import { TurnHandle, type SendOptions } from './turn.ts';

/** One conversation on the server. */
export class AgentHandle implements AsyncDisposable {
  readonly id: number;
  /** What the server noticed about the graph when it compiled it. */
  readonly warnings: readonly string[];
  readonly #connection: Connection;
  readonly #open = new Set<TurnHandle>();

  constructor(connection: Connection, id: number, warnings: readonly string[]) {
    this.#connection = connection;
    this.id = id;
    this.warnings = warnings;
  }

  /** Says something to the agent; one turn at a time. */
  send(text: string, options: SendOptions = {}): TurnHandle {
    return new TurnHandle(this.#connection, this.id, text, options, this.#open);
  }

  /** Changes live parameters of a node between turns: only the fields given; null restores a default. */
  async changeParams(nodeName: string, params: object): Promise<void> {
    await this.#connection.request('changeParams', { agentId: this.id, nodeName, paramsJson: JSON.stringify(params) });
  }

  /** The conversation so far as JSON text, for `createAgent({ history })` later: how games save. */
  async exportDialog(): Promise<string> {
    const parts: string[] = [];
    await this.#connection.request(
      'exportDialog',
      { agentId: this.id },
      { onFrame: (frame) => frame.body === 'exportDialog' && parts.push(frame.exportDialog.historyJson) },
    );
    return parts.join('');
  }

  /** Forgets the conversation; a turn that runs is cancelled first. */
  async clearDialog(): Promise<void> {
    await this.#connection.request('clearDialog', { agentId: this.id });
  }

  /** Ends the conversation and frees what it holds; a turn that runs is cancelled first. */
  async destroy(): Promise<void> {
    await this.#connection.request('destroyAgent', { agentId: this.id });
  }

  /** As `destroy`, but content when the agent or the connection is gone already. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy().catch(() => {});
  }
}
