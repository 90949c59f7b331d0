import { detect } from '../reply/detect/detect.ts';
import { callGrammar } from './callGrammar.ts';
import type { ToolCallFormat } from '../tool.ts';
import { toolSignature } from './toolText.ts';

const keys = { name: 'tool', arguments: 'args' } as const;

/** Tool-call format for models without tool training: tools as signatures, calls as bare JSON with "tool" and "args". */
export const generic: ToolCallFormat = {
  name: 'generic',
  place: 'system',
  render: (tools) => `You can call tools. To call one, reply with only {"tool": "<name>", "args": {...}}.

Tools:
${tools.map(toolSignature).join('\n')}`,
  detect: (text, options) => detect(text, keys, options),
  grammar: (tools, choice) => callGrammar(tools, choice, { keys }),
};
