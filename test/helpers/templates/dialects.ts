import { compileTemplate } from '../../../src/chat/template/compileTemplate.ts';
import { readToolDialect } from '../../../src/chat/template/derive/readToolDialect.ts';
import { formats } from '../../../src/chat/formats/index.ts';
import { stringifyJson } from '../../../src/chat/json/value.ts';
import type { CallLayout, ToolDialect } from '../../../src/chat/dialect/layout.ts';
import { nativeFormat } from '../../../src/chat/dialect/nativeFormat.ts';
import type { DetectedCall, Tool, ToolCallFormat } from '../../../src/chat/tool.ts';
import { createTool } from '../toolCalls.ts';

/** The tool-call dialect of a chat template. */
export const dialectOf = (source: string): ToolDialect =>
  readToolDialect(compileTemplate(source, { bos: '', eos: '' }), formats);

const dialects = new Map<string, ToolDialect>();

/** The layout of calls that a chat template proves. @throws Error where it proves none. */
export function layoutOf(source: string): CallLayout {
  const dialect = dialects.get(source) ?? dialectOf(source);
  dialects.set(source, dialect);
  if (!dialect.layout) throw new Error(dialect.because);
  return dialect.layout;
}

/** The format of the layout that a chat template proves. */
export const formatOf = (source: string): ToolCallFormat => nativeFormat(layoutOf(source));

/** The tools of the outputs in the tests. */
export const sampleTools: readonly Tool[] = [
  createTool({
    name: 'lamp',
    parameters: [
      { name: 'place', type: 'string' },
      { name: 'level', type: 'integer' },
      { name: 'on', type: 'boolean' },
    ],
  }),
  createTool({ name: 'door' }),
];

/** A call as the tests compare it. */
export const callText = ({ name, arguments: args }: DetectedCall): string => `${name} ${stringifyJson(args)}`;

/** The calls of `lamp` and `door` in the outputs. */
export const lampCall = 'lamp {"place": "the \\"old\\"\\nattic", "level": 3, "on": true}';
export const doorCall = 'door {}';
