import type { GraphDocument } from './graphs.ts';

const topics = {
  lights: ['set_light', 'dim_light', 'blink_light'],
  kitchen: ['brew_tea', 'slice_ham', 'light_stove'],
  garden: ['rake_leaves', 'clip_hedge', 'feed_birds'],
  visitors: ['open_door', 'take_coat', 'announce_guest'],
} as const;

/** Twelve tools without parameters. */
export const houseTools = Object.values(topics)
  .flat()
  .map((name) => ({ name, description: `Does ${name.replace('_', ' ')}.`, parameters: [] }));

/** Four guidelines, each for three of the tools. A guideline matches its own name. */
export const houseGuidelines = Object.entries(topics).map(([name, tools]) => ({
  name,
  when: `the user speaks of the ${name}`,
  patterns: [`\\b${name}\\b`],
  tools,
  action: `Mind the ${name}.`,
}));

/** A house: selects tools, offers only these, and answers. With `loops` it selects again after results. */
export function house({
  select = {},
  serve = {},
  loops = false,
}: {
  readonly select?: object;
  readonly serve?: object;
  readonly loops?: boolean;
} = {}): GraphDocument {
  return {
    start_node: 'select',
    nodes: {
      select: {
        type: 'SelectTools',
        params: { guidelines: houseGuidelines, ...select },
        exits: { matched: 'serve', none_matched: 'serve' },
      },
      serve: {
        type: 'ToolCall',
        params: { tools: houseTools, tools_from: 'selection', await_results: loops, ...serve },
        exits: { tool_called: loops ? 'select' : 'answer', no_tool_called: 'answer', no_results: 'answer' },
      },
      answer: { type: 'Generate' },
    },
  };
}
