import { type SessionMemory, sizeOf } from '../storage/sessionMemory.ts';

type Part = 'graph' | 'dialog' | 'variables' | 'summaries' | 'turn';

export type AgentMemory = ReturnType<typeof agentMemory>;

/** What one agent keeps in the memory of its session. */
export function agentMemory(session: SessionMemory, id: number) {
  const sizes: Record<Part, number> = { graph: 0, dialog: 0, variables: 0, summaries: 0, turn: 0 };
  const made = new Map<string, object>();
  /** Counts what is added to a part. @param isChecked whether it is refused. @throws Fault LIMIT_EXCEEDED */
  const add = (part: Part, value: unknown, isChecked = true): void => {
    const bytes = sizeOf(value);
    session.add(bytes, isChecked ? `the ${part} of agent ${id}` : undefined);
    sizes[part] += bytes;
  };
  /** Counts a value in place of all that the part has. @throws Fault LIMIT_EXCEEDED; then nothing has changed. */
  const replace = (part: Part, value: unknown): void => {
    const former = sizes[part];
    add(part, value);
    session.add(-former);
    sizes[part] -= former;
  };
  const empty = (part: Part): void => {
    session.add(-sizes[part]);
    sizes[part] = 0;
  };
  /** Counts what is made of the parameters of a node, in place of what was before. @throws Fault LIMIT_EXCEEDED */
  const setMade = (nodeName: string, thing: object, bytes: number): void => {
    session.share(thing, bytes, `what ${nodeName} compiles`);
    const former = made.get(nodeName);
    made.set(nodeName, thing);
    if (former) session.drop(former);
  };
  const dispose = (): void => {
    for (const part of ['graph', 'dialog', 'variables', 'summaries', 'turn'] as const) empty(part);
    for (const thing of made.values()) session.drop(thing);
  };
  return { add, replace, empty, setMade, [Symbol.dispose]: dispose };
}
