import type { DialogResult, Interaction } from '../../chat/dialog.ts';
import { describeError } from '../../protocol/fault.ts';
import type { Exchange } from '../compile/turn.ts';
import { stringifyJson } from '../../chat/json/value.ts';

/** What a turn that called tools shows in later prompts when its own line is empty. */
const defaultSpoken = 'Done.';

/** What a turn leaves behind for the dialog. */
export interface TurnRemains extends Pick<Interaction, 'user' | 'assistant' | 'mark'> {
  readonly variables: Readonly<Record<string, string>>;
  readonly exchanges: readonly Exchange[];
  /** The answer that later prompts show where the turn called and sent no text; undefined: it called no tool. */
  readonly spoken: (() => string) | undefined;
}

/** The interaction that a turn adds to the dialog. It is small: it has no calls, and results only if they stay. */
export function toInteraction(
  { user, assistant, mark, variables, exchanges, spoken }: TurnRemains,
  warn: (warning: string) => void,
): Interaction {
  const results = dialogResults(exchanges);
  return {
    user,
    assistant,
    ...(mark && { mark }),
    ...(Object.keys(variables).length > 0 && { variables }),
    ...(spoken && assistant === '' && { spoken: renderSpoken(spoken, warn) }),
    ...(results.length > 0 && { results }),
  };
}

function renderSpoken(render: () => string, warn: (warning: string) => void): string {
  try {
    return render().trim() || defaultSpoken;
  } catch (error) {
    warn(`the line for later turns (spoken) is "${defaultSpoken}": ${describeError(error)}`);
    return defaultSpoken;
  }
}

function dialogResults(exchanges: readonly Exchange[]): readonly DialogResult[] {
  const staying = exchanges.flatMap(({ calls }) => calls).filter(({ lifespan }) => lifespan === 'DIALOG');
  const results = staying.map(({ id, name, arguments: args, ok, content }) => {
    return { call_id: id, name, arguments_json: stringifyJson(args), ok, content };
  });
  // A call that was repeated within the turn has the result of the first one, under the same id.
  return results.filter(({ call_id }, index) => results.findIndex((other) => other.call_id === call_id) === index);
}
