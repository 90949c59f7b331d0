import { formats } from '../../formats/index.ts';
import type { ToolDialect } from '../../dialect/toolDialect.ts';
import type { ReplyMarks } from '../../replyMarks.ts';
import type { TotalStepBudget } from '../jinja/stepBudget.ts';
import type { RenderTemplate } from '../templateInput.ts';
import { readToolDialect } from './readToolDialect.ts';

// Models are loaded again after they were unloaded, and several files of a family have the same template.
const dialects = new Map<string, ToolDialect>();
const maxDialects = 32;

/**
 * The tool-call dialect of a chat template, read off it once for each text.
 * @param total what `render` may take, all in all.
 * @throws Error when that is used up: what was read off is wrong then.
 */
export function toolDialectOf(
  source: string,
  render: RenderTemplate,
  marks: ReplyMarks,
  total?: TotalStepBudget,
): ToolDialect {
  const known = dialects.get(source);
  if (known) return known;
  const dialect = readToolDialect(render, formats, marks);
  total?.check();
  if (dialects.size >= maxDialects) dialects.clear();
  dialects.set(source, dialect);
  return dialect;
}
