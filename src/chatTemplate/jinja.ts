import { Environment, Interpreter, Template } from '@huggingface/jinja';
import type { RenderTemplate } from './templateInput.ts';

/** The special tokens that chat templates refer to by name. */
export interface SpecialTokens {
  readonly bos: string;
  readonly eos: string;
}

/**
 * Compiles a chat template (Jinja source), with the variables and functions that Hugging Face's transformers gives it.
 * @param extras more variables, which take precedence.
 * @throws Error when it does not parse.
 */
export function compileTemplate(
  source: string,
  { bos, eos }: SpecialTokens,
  extras: Readonly<Record<string, unknown>> = {},
): RenderTemplate {
  const program = new Template(source).parsed;
  return ({ messages, tools, addGenerationPrompt = true, variables }) => {
    // Without the library's own globals: they contain a clock, which would put today's date into Llama 3.2's prompts,
    // and a date that changes breaks prefix reuse.
    const environment = new Environment();
    const context = {
      ...globals,
      bos_token: bos,
      eos_token: eos,
      add_generation_prompt: addGenerationPrompt,
      // Not an empty list: some templates then write the text around an empty list.
      tools: null,
      documents: null,
      ...extras,
      ...(tools && { tools }),
      ...variables,
      messages,
    };
    for (const [name, value] of Object.entries(context)) environment.set(name, value);
    return String(new Interpreter(environment).run(program).value);
  };
}

/** The function `strftime_now` of chat templates, with the time fixed, so that a prompt's prefix never changes. */
export const strftimeAt =
  (time: Date) =>
  (format: string): string =>
    format.replace(/%([YmdBbAaHMS])/g, (_, directive: string) => {
      const localize = (options: Intl.DateTimeFormatOptions): string => time.toLocaleString('en-GB', options);
      const twoDigits = (value: number): string => String(value).padStart(2, '0');
      const directives: Readonly<Record<string, string>> = {
        Y: String(time.getFullYear()),
        m: twoDigits(time.getMonth() + 1),
        d: twoDigits(time.getDate()),
        B: localize({ month: 'long' }),
        b: localize({ month: 'short' }),
        A: localize({ weekday: 'long' }),
        a: localize({ weekday: 'short' }),
        H: twoDigits(time.getHours()),
        M: twoDigits(time.getMinutes()),
        S: twoDigits(time.getSeconds()),
      };
      return directives[directive] ?? '';
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
  const [first, end] = stop === undefined ? [0, start] : [start, stop];
  const length = Math.min(maxRangeLength, Math.max(0, Math.ceil((end - first) / step)));
  return Array.from({ length }, (_, index) => first + index * step);
}

function raiseException(message: unknown): never {
  throw new Error(String(message));
}
