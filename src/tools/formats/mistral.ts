import { detect } from '../detect.ts';
import type { ToolCallFormat } from '../tool.ts';
import { functionJson } from './functionJson.ts';

/** The dialect of Mistral 7B v0.3 and Nemo: a list of calls after the marker [TOOL_CALLS]. */
export const mistral: ToolCallFormat = {
  name: 'mistral',
  place: 'last-user',
  render: (tools) => `[AVAILABLE_TOOLS] [${tools.map(functionJson).join(', ')}][/AVAILABLE_TOOLS]\n\n`,
  detect: (text) => detect(text, { name: 'name', arguments: 'arguments' }),
};
