import { Environment, Interpreter, Template } from '@huggingface/jinja';
import type { Message, ToolDefinition } from '../../../dialog.ts';
import { toTemplateMessage } from './templateMessage.ts';

/**
 * Writes messages as one prompt that awaits an answer, with tools where there are any.
 * @throws Error in the template's own words when it refuses them.
 */
export type RenderTemplate = (
  messages: readonly Message[],
  tools?: readonly ToolDefinition[],
  thinking?: boolean,
) => string;

/** The special tokens that chat templates name. */
export interface SpecialTokens {
  readonly bos: string;
  readonly eos: string;
}

/**
 * A chat template (Jinja source) made ready; `extras` are variables beside the usual ones.
 * @throws Error when it does not parse.
 */
export function compileTemplate(
  source: string,
  { bos, eos }: SpecialTokens,
  extras: Readonly<Record<string, unknown>> = {},
): RenderTemplate {
  const program = new Template(source).parsed;
  return (messages, tools, thinking) => {
    // The library's own globals have a clock in them: it would put today's date into Llama 3.2's prompts, and a date
    // that changes breaks every cache.
    const environment = new Environment();
    const variables = {
      ...globals,
      bos_token: bos,
      eos_token: eos,
      add_generation_prompt: true,
      // Not an empty list: some templates then write the frame of one.
      tools: null,
      documents: null,
      ...extras,
      ...(tools && { tools }),
      // The name that Qwen3 and others give to it.
      ...(thinking !== undefined && { enable_thinking: thinking }),
      messages: messages.map(toTemplateMessage),
    };
    for (const [name, value] of Object.entries(variables)) environment.set(name, value);
    return String(new Interpreter(environment).run(program).value);
  };
}

/** A clock for templates that do not work without one; it stands still. */
export const strftimeAt =
  (at: Date) =>
  (format: string): string =>
    format.replace(/%([YmdBbAaHMS])/g, (_, part: string) => {
      const show = (options: Intl.DateTimeFormatOptions): string => at.toLocaleString('en-GB', options);
      const two = (value: number): string => String(value).padStart(2, '0');
      const parts: Readonly<Record<string, string>> = {
        Y: String(at.getFullYear()),
        m: two(at.getMonth() + 1),
        d: two(at.getDate()),
        B: show({ month: 'long' }),
        b: show({ month: 'short' }),
        A: show({ weekday: 'long' }),
        a: show({ weekday: 'short' }),
        H: two(at.getHours()),
        M: two(at.getMinutes()),
        S: two(at.getSeconds()),
      };
      return parts[part] ?? '';
    });

const globals = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  range,
  raise_exception: raiseException,
};

const maxRangeLength = 100_000;

function range(start: number, stop?: number, step = 1): number[] {
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  const length = Math.min(maxRangeLength, Math.max(0, Math.ceil((to - from) / step)));
  return Array.from({ length }, (_, index) => from + index * step);
}

function raiseException(message: unknown): never {
  throw new Error(String(message));
}
