import { type SessionMemory, sizeOf } from '../storage/sessionMemory.ts';

type Part = 'graph' | 'dialog' | 'variables' | 'summaries' | 'turn';

/** What one agent keeps in the memory of its session. */
export class AgentMemory implements Disposable {
  readonly #session: SessionMemory;
  readonly #id: number;
  readonly #bytes: Record<Part, number> = { graph: 0, dialog: 0, variables: 0, summaries: 0, turn: 0 };
  readonly #made = new Map<string, object>();

  constructor(session: SessionMemory, id: number) {
    this.#session = session;
    this.#id = id;
  }

  /** Counts what is added to a part. @param isChecked whether it is refused. @throws Fault LIMIT_EXCEEDED */
  add(part: Part, value: unknown, isChecked = true): void {
    const bytes = sizeOf(value);
    this.#session.add(bytes, isChecked ? `the ${part} of agent ${this.#id}` : undefined);
    this.#bytes[part] += bytes;
  }

  /** Counts a value in place of all that the part has. @throws Fault LIMIT_EXCEEDED; then nothing has changed. */
  replace(part: Part, value: unknown): void {
    const former = this.#bytes[part];
    this.add(part, value);
    this.#session.add(-former);
    this.#bytes[part] -= former;
  }

  empty(part: Part): void {
    this.#session.add(-this.#bytes[part]);
    this.#bytes[part] = 0;
  }

  /** Counts what is made of the parameters of a node, in place of what was before. @throws Fault LIMIT_EXCEEDED */
  setMade(nodeName: string, thing: object, bytes: number): void {
    this.#session.share(thing, bytes, `what ${nodeName} compiles`);
    const former = this.#made.get(nodeName);
    this.#made.set(nodeName, thing);
    if (former) this.#session.drop(former);
  }

  [Symbol.dispose](): void {
    for (const part of ['graph', 'dialog', 'variables', 'summaries', 'turn'] as const) this.empty(part);
    for (const thing of this.#made.values()) this.#session.drop(thing);
  }
}
