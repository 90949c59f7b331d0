import { type Keeper, type SessionMemory, sizeOf } from '../storage/sessionMemory.ts';

/** What one agent keeps in the memory of its session. */
export class AgentMemory implements Disposable {
  readonly #session: SessionMemory;
  readonly #agent: string;
  readonly #keeper: Keeper = new Set();
  readonly #parts = { graph: {}, dialog: {}, turn: {} };
  // By node: what it has made of its parameters, and its parameters if they were changed.
  readonly #made = new Map<string, object>();
  readonly #changed = new Map<string, object>();

  /** @param id of the agent, for errors. */
  constructor(session: SessionMemory, id: number) {
    this.#session = session;
    this.#agent = `agent ${id}`;
  }

  /** Counts what is added to a part of the agent. @throws Fault LIMIT_EXCEEDED; then nothing has changed. */
  add(part: 'graph' | 'dialog' | 'turn', value: unknown): void {
    this.#session.grow(this.#parts[part], sizeOf(value), this.#keeper, `the ${part} of ${this.#agent}`);
  }

  clearDialog(): void {
    this.#session.drop(this.#keeper, [this.#parts.dialog]);
  }

  /** The turn has ended: what it adds to the dialog stays of it. */
  endTurn(interaction: object): void {
    this.#session.drop(this.#keeper, [this.#parts.turn]);
    this.#session.grow(this.#parts.dialog, sizeOf(interaction), this.#keeper);
  }

  /** Counts what a node has made of its parameters, in place of what it had; once, if others have it, too. */
  setMade(nodeName: string, thing: object, bytes: number): void {
    if (!this.#session.share(thing, this.#keeper))
      this.#session.grow(thing, bytes, this.#keeper, `what ${nodeName} compiles`);
    this.#replace(this.#made, nodeName, thing);
  }

  /** Changes parameters of a node. @throws Fault LIMIT_EXCEEDED, or what `change` throws. */
  async change(nodeName: string, params: unknown, change: () => Promise<void>): Promise<void> {
    const thing = {};
    this.#session.grow(thing, sizeOf(params), this.#keeper, `the new parameters of ${nodeName}`);
    try {
      await change();
      this.#replace(this.#changed, nodeName, thing);
    } catch (error) {
      this.#session.drop(this.#keeper, [thing]);
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#session.drop(this.#keeper);
  }

  #replace(things: Map<string, object>, nodeName: string, thing: object): void {
    const former = things.get(nodeName);
    things.set(nodeName, thing);
    // Nodes of the agent may share it.
    if (former && ![...things.values()].includes(former)) this.#session.drop(this.#keeper, [former]);
  }
}
