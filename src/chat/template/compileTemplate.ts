import { JinjaTemplate } from './jinja/template.ts';
import type { TotalBudget } from './jinja/totalBudget.ts';
import type { RenderTemplate } from './templateInput.ts';

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
  { bos, eos }: SpecialTokens,
  extras: Readonly<Record<string, unknown>> = {},
  total?: TotalBudget,
): RenderTemplate {
  const template = new JinjaTemplate(source);
  return ({ messages, tools, addGenerationPrompt = true, variables }) =>
    template.render(
      {
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
      },
      total,
    );
}
