// The graphs of the guideline evaluation: all tools offered, or those that a SelectTools node selects.
import { toolParams } from '../tools/runItem.mjs';

const callNode = ({ system_prompt, tools }, format, more = {}) => ({
  type: 'ToolCall',
  params: { ...toolParams(tools, { format }), system_prompt, ...more },
});

const selecting = (match) => (house, format) => ({
  start_node: 'select',
  nodes: {
    select: {
      type: 'SelectTools',
      params: { guidelines: house.guidelines, match },
      exits: { matched: 'serve', none_matched: 'serve' },
    },
    serve: callNode(house, format, { tools_from: 'selection' }),
  },
});

/** The graph of each offer. */
export const graphs = {
  'all 12': (house, format) => ({ start_node: 'serve', nodes: { serve: callNode(house, format) } }),
  'by patterns': selecting('patterns'),
  'by model': selecting('model'),
};

/** Prompt tokens of the ToolCall node in a turn with diagnostics; undefined without inference. */
export const promptTokens = ({ events }) =>
  events.find(({ nodeName, eventType }) => nodeName === 'serve' && eventType === 'inference')?.payload.tokens.prompt;

/** Names of the guidelines that a turn with diagnostics selected, in their order. */
export const selectedGuidelines = ({ events }) =>
  events.find(({ eventType }) => eventType === 'tools_selected')?.payload.guidelines.map(({ name }) => name) ?? [];
