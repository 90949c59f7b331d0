import type { CallLayout } from './layout.ts';

/** The layout of a family whose chat template shows tools, but leaves the calls of the history out. */
export interface KnownLayout {
  readonly family: string;
  /** Whether a prompt with tools is that of the family. */
  isShownIn(prompt: string): boolean;
  readonly layout: CallLayout;
}

const callObject = (open: string, close: string): CallLayout => ({
  header: '',
  open: `${open}[`,
  close: `]${close}`,
  separator: ', ',
  end: '',
  before: ['{"name": "'],
  between: ['", "arguments": '],
  after: ['}'],
  arguments: { kind: 'json', keys: { name: 'name', arguments: 'arguments' } },
});

/** JSON objects in `<tool_call>` tags: the layout of chatml. */
export const callsInTags: CallLayout = {
  ...callObject('', ''),
  open: '',
  close: '',
  separator: '\n',
  before: ['<tool_call>\n{"name": "'],
  after: ['}\n</tool_call>'],
};

/** The layouts that no template shows; to add one, add a line here. From the families' model cards. */
export const knownLayouts: readonly KnownLayout[] = [
  {
    family: 'Qwen and Hermes',
    isShownIn: (prompt) => prompt.includes('<tool_call>') && prompt.includes('"arguments"'),
    layout: callsInTags,
  },
  {
    family: 'Granite 3',
    isShownIn: (prompt) => prompt.includes('<|tool_call|>'),
    layout: callObject('<|tool_call|>', ''),
  },
  {
    family: 'Phi-4-mini',
    isShownIn: (prompt) => prompt.includes('<|tool|>'),
    layout: callObject('<|tool_call|>', '<|/tool_call|>'),
  },
  {
    family: 'LFM2',
    isShownIn: (prompt) => /List of tools: (?:<\|tool_list_start\|>)?\[/.test(prompt),
    layout: {
      ...callObject('<|tool_call_start|>', '<|tool_call_end|>'),
      before: [],
      between: [],
      after: [')'],
      arguments: {
        kind: 'parameters',
        values: 'python',
        open: '(',
        separator: ', ',
        empty: '(',
        key: '',
        string: { open: '=', close: '' },
        other: { open: '=', close: '' },
        style: { quote: '"', true: 'True', false: 'False', null: 'None' },
      },
    },
  },
];
