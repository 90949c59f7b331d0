import type { Interaction, SavedState, SavedSummary } from '../../chat/dialog.ts';
import { stringifyJson, type JsonObject } from '../../chat/json/value.ts';
import { parseUniqueJson, withoutMark } from '../../base/jsonLocations.ts';
import { Fault, malformed } from '../../protocol/fault.ts';
import { parseJsonObject } from '../../chat/json/lenientParser.ts';
import type { Summary } from '../projection/summary.ts';
import type { AgentMemory } from './agentMemory.ts';

/** Of all variables of an agent together, as JSON. */
export const maxVariableBytes = 64 * 1024;

/** What an agent keeps between its turns in addition to the dialog. */
export class AgentState {
  /** Who answers messages: the graph (AUTO) or people (MANUAL). */
  mode: NonNullable<SavedState['mode']>;
  /** The calls that lack something or are unsure. */
  pending: NonNullable<SavedState['pending']>;
  readonly summaries: ReturnType<typeof dialogSummaries>;
  readonly #memory: AgentMemory;
  #variables: Readonly<Record<string, string>> = {};

  /** @throws Fault LIMIT_EXCEEDED for variables that are too large. */
  constructor(memory: AgentMemory, { dialog, savedBefore, state = {} }: ReturnType<typeof readSaved>) {
    const { mode = 'AUTO', variables, pending = [], summaries = [] } = state;
    this.#memory = memory;
    this.summaries = dialogSummaries(memory, summaries, dialog.slice(0, savedBefore));
    this.mode = mode;
    this.pending = pending;
    if (variables) this.#keep(variables);
  }

  get variables(): Readonly<Record<string, string>> {
    return this.#variables;
  }

  /**
   * Sets variables: a text as it is, another value as its JSON; null removes a variable.
   * @param json the text of an object.
   * @throws Fault MALFORMED_MESSAGE, LIMIT_EXCEEDED; then nothing has changed.
   */
  setVariables(json: string): void {
    const kept = new Map(Object.entries(this.#variables));
    for (const [name, value] of readVariables(json)) {
      if (value === null) kept.delete(name);
      else kept.set(name, typeof value === 'string' ? value : stringifyJson(value));
    }
    this.#keep(Object.fromEntries(kept));
  }

  /** Forgets what depends on the dialog. */
  clear(): void {
    this.pending = [];
    this.summaries.clear();
  }

  /** A dialog as it is saved: the state is on its last entry. */
  save(dialog: readonly Interaction[]): readonly Interaction[] {
    const summaries = this.summaries.save(dialog);
    const agent: SavedState = {
      ...(this.mode !== 'AUTO' && { mode: this.mode }),
      ...(Object.keys(this.#variables).length > 0 && { variables: this.#variables }),
      ...(this.pending.length > 0 && { pending: this.pending }),
      ...(summaries.length > 0 && { summaries }),
    };
    if (Object.keys(agent).length === 0) return dialog;
    const last = dialog.at(-1) ?? { user: '', assistant: '' };
    return [...dialog.slice(0, -1), { ...last, agent }];
  }

  #keep(variables: Readonly<Record<string, string>>): void {
    const bytes = Buffer.byteLength(JSON.stringify(variables));
    if (bytes > maxVariableBytes) {
      const why = `the variables of the agent would have ${bytes} bytes, and ${maxVariableBytes} are allowed`;
      throw new Fault('LIMIT_EXCEEDED', `${why}; keep less, or remove a variable with null`);
    }
    this.#memory.replace('variables', variables);
    this.#variables = variables;
  }
}

function readVariables(json: string): JsonObject {
  const fault = (problem = 'must be a JSON object with the variables'): Fault =>
    malformed(`setVariables.variablesJson ${problem}; give {"name": "value"}`);
  parseUniqueJson(json, fault);
  // Not its value: the numbers of an object of chat/json keep all their digits.
  const variables = parseJsonObject(withoutMark(json));
  if (variables) return variables;
  throw fault();
}

/**
 * The running summaries of one agent, by node.
 * @param dialog that they were saved with.
 * @throws Fault LIMIT_EXCEEDED
 */
function dialogSummaries(memory: AgentMemory, saved: readonly SavedSummary[], dialog: readonly Interaction[]) {
  let byNode: ReadonlyMap<string, Summary> = new Map(
    saved.map(({ node, text, interactions, entries_after: after }) => {
      return [node, { text, interactions, last: dialog[dialog.length - after - 1] }];
    }),
  );
  memory.replace('summaries', saved);
  return {
    get: (nodeName: string): Summary | undefined => byNode.get(nodeName),
    set(nodeName: string, summary: Summary): void {
      const changed = new Map(byNode).set(nodeName, summary);
      const texts = [...changed].map(([node, { text }]) => [node, text]);
      memory.replace('summaries', texts);
      byNode = changed;
    },
    clear(): void {
      memory.empty('summaries');
      byNode = new Map();
    },
    /** @param current the dialog of the agent. */
    save: (current: readonly Interaction[]): readonly SavedSummary[] =>
      [...byNode].map(([node, { text, interactions, last }]) => {
        const entries_after = current.length - 1 - (last ? current.lastIndexOf(last) : -1);
        return { node, text, interactions, entries_after };
      }),
  };
}

/** The dialog and the state in a saved dialog. */
export function readSaved(saved: readonly Interaction[]) {
  const dialog: Interaction[] = [];
  // How many interactions of the dialog it had when the state was saved.
  let savedBefore = 0;
  let state: SavedState | undefined;
  for (const { agent, ...interaction } of saved) {
    // The state of an agent without a dialog.
    const isEmpty = agent && Object.values(interaction).every((value) => value === '');
    if (!isEmpty) dialog.push(interaction);
    if (agent) [state, savedBefore] = [agent, dialog.length];
  }
  return { dialog, savedBefore, state };
}
