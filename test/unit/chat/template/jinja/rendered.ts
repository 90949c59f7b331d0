import { JinjaTemplate } from '../../../../../src/chat/template/jinja/template.ts';

/** What a template renders with some variables; an error as `error: ...`. */
export function rendered(source: string, variables: Readonly<Record<string, unknown>> = {}): string {
  try {
    return new JinjaTemplate(source).render(variables);
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : String(error)}`;
  }
}
