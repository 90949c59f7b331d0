import type { ExpectedCall } from '../../scripts/evals/tools/items.mjs';
import { createReader } from '../../src/protocol/schema.ts';
import { readTool } from '../../src/chat/tools/declaration/readTool.ts';
import { toolSchema } from '../../src/chat/tools/declaration/toolSchema.ts';
import type { Tool } from '../../src/chat/tool.ts';

const readDeclaration = createReader(toolSchema);

/** Reads a tool declaration like a server does. */
export function toTool(declaration: unknown): Tool {
  const checked = readDeclaration(declaration);
  const reading = checked.ok ? readTool(checked.value) : checked;
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value;
}

const hasType: Readonly<Record<string, (value: unknown, items?: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  array: (value, element) =>
    Array.isArray(value) && value.every((entry) => hasType[(element as { readonly type: string }).type]?.(entry)),
};

/** Problems of an expected call. */
export function findCallProblems({ name, arguments: args }: ExpectedCall, tools: readonly Tool[]): string[] {
  const tool = tools.find((entry) => entry.name === name);
  if (!tool) return [`${name} is not on offer`];
  const { properties = {}, required = [] } = tool.parameters;
  const missing = required.filter((param) => !Object.hasOwn(args, param));
  const wrong = Object.entries(args).flatMap(([param, allowed]) => {
    const schema = properties[param];
    if (!schema) return [`${name}.${param} is not declared`];
    if (allowed.length === 0) return [`${name}.${param} allows nothing`];
    const invalidValues = allowed.filter((value) => {
      if (value === null) return required.includes(param);
      if (!hasType[schema.type ?? '']?.(value, schema['items'])) return true;
      const values = schema['enum'] as readonly unknown[] | undefined;
      return values !== undefined && !values.includes(value);
    });
    return invalidValues.map((value) => `${name}.${param} cannot be ${JSON.stringify(value)}`);
  });
  return [...missing.map((param) => `${name}.${param} is required`), ...wrong];
}
