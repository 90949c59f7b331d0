import { jinjaGlobals, JinjaTemplate } from './jinja/template.ts';
import type { TotalStepBudget } from './jinja/stepBudget.ts';
import type { RenderTemplate, TemplateInput } from './templateInput.ts';

/** The special tokens that chat templates refer to by name. */
export interface SpecialTokens {
  readonly bos: string;
  readonly eos: string;
}

/**
 * Compiles a chat template (Jinja source), with the variables and functions that Hugging Face's transformers gives it.
 * There is no clock among them: it would put today's date into Llama 3.2's prompts, and a date that changes breaks prefix
 * reuse.
 * @param extras more variables, which take precedence.
 * @param total what all renderings may take together; absent: each has a limit of its own only.
 * @throws Error when it does not parse.
 */
export function compileTemplate(
  source: string,
  specialTokens: SpecialTokens,
  extras: Readonly<Record<string, unknown>> = {},
  total?: TotalStepBudget,
): RenderTemplate {
  const template = new JinjaTemplate(source);
  return (input) => {
    const { messages, tools, variables } = input;
    const given = givenVariables(specialTokens, input);
    return template.render({ ...given, ...extras, ...(tools && { tools }), ...variables, messages }, total);
  };
}

const givenVariables = ({ bos, eos }: SpecialTokens, { messages, addGenerationPrompt = true }: TemplateInput) => ({
  bos_token: bos,
  eos_token: eos,
  add_generation_prompt: addGenerationPrompt,
  // Not an empty list: some templates then write the text around an empty list.
  tools: null,
  documents: null,
  messages,
});

/** The variable by which some templates read the time, which stands still, so that a prompt's prefix never changes. */
export const clockAt = (time: Date) => ({ strftime_now: strftimeAt(time) });

/** Names that a template may use and that are no setting of it: what every template gets, or what has another meaning. */
export const reservedNames: ReadonlySet<string> = new Set([
  ...jinjaGlobals.keys(),
  ...Object.keys(givenVariables({ bos: '', eos: '' }, { messages: [] })),
  ...Object.keys(clockAt(new Date(0))),
  ...(
    'unk_token pad_token continue_final_message date_string today builtin_tools custom_tools available_tools ' +
    'tools_in_user_message model_identity controls response_format default_system_prompt'
  ).split(' '),
]);

function strftimeAt(time: Date): (format: string) => string {
  const localize = (options: Intl.DateTimeFormatOptions): string => time.toLocaleString('en-GB', options);
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  const directives: Readonly<Record<string, () => string>> = {
    Y: () => String(time.getFullYear()),
    m: () => twoDigits(time.getMonth() + 1),
    d: () => twoDigits(time.getDate()),
    B: () => localize({ month: 'long' }),
    b: () => localize({ month: 'short' }),
    A: () => localize({ weekday: 'long' }),
    a: () => localize({ weekday: 'short' }),
    H: () => twoDigits(time.getHours()),
    M: () => twoDigits(time.getMinutes()),
    S: () => twoDigits(time.getSeconds()),
  };
  return (format) => format.replace(/%([YmdBbAaHMS])/g, (_, directive: string) => directives[directive]?.() ?? '');
}
