import { StepBudget, TemplateLimitError, type TotalStepBudget } from './stepBudget.ts';
import type { Statement } from './syntax/ast.ts';
import { fromData } from './values/coercion.ts';
import { Executor } from './execute.ts';
import { jinjaGlobals } from './globals.ts';
import { lineOf } from './syntax/lexer.ts';
import { parseTemplate } from './syntax/parse.ts';
import { Scope } from './evaluate.ts';

/** A Jinja template, with the settings and filters that Hugging Face's transformers gives it. */
export class JinjaTemplate {
  readonly statements: readonly Statement[];
  readonly #source: string;

  /** @throws Error when the source is not valid, with its line. */
  constructor(source: string) {
    this.#source = source;
    this.statements = explainOverflow(() => parseTemplate(source));
  }

  /**
   * Renders the template.
   * @param variables plain data and functions of texts.
   * @param total what this rendering and others may take together.
   * @throws TemplateLimitError with the line, when it takes too much work.
   * @throws Error with the template's own message when it raises one, or when it fails.
   */
  render(variables: Readonly<Record<string, unknown>>, total?: TotalStepBudget): string {
    const budget = new StepBudget(total);
    const executor = new Executor(budget);
    const run = (): string => {
      total?.begin();
      const scope = new Scope();
      for (const [name, value] of jinjaGlobals) scope.set(name, value);
      for (const [name, data] of Object.entries(variables)) {
        const { value, size } = fromData(data);
        budget.addInput(size);
        scope.set(name, value);
      }
      const text = executor.render(this.statements, scope);
      total?.spendText(text.length);
      return text;
    };
    try {
      return explainOverflow(run);
    } catch (error) {
      if (error instanceof TemplateLimitError) error.addLine(lineOf(this.#source, executor.offset));
      throw error;
    }
  }
}

// A program can nest deeper than the stack of JavaScript.
function explainOverflow<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof RangeError
      ? new TemplateLimitError('the template nests too deeply', { cause: error })
      : error;
  }
}
