import type { notationTemplates } from './notations.ts';

/** What a model writes in a notation. */
export interface NotationOutput {
  /** A call of `lamp` with a string that has quotes and a line break, an integer and a boolean. */
  readonly lamp: string;
  /** A call of `door` without arguments. */
  readonly door: string;
  /** What stands before the first call and after the last one. */
  readonly section?: readonly [open: string, close: string];
  readonly between: string;
}

/** Outputs in each notation of `notationTemplates`. */
export const notationOutputs: Readonly<Record<keyof typeof notationTemplates, NotationOutput>> = {
  chatml: {
    lamp: '<tool_call>\n{"name": "lamp", "arguments": {"place": "the \\"old\\"\\nattic", "level": 3, "on": true}}\n</tool_call>',
    door: '<tool_call>\n{"name": "door", "arguments": {}}\n</tool_call>',
    between: '\n',
  },
  jsonList: {
    lamp: '{"name": "lamp", "arguments": {"place": "the \\"old\\"\\nattic", "level": 3, "on": true}}',
    door: '{"name": "door", "arguments": {}}',
    section: ['<calls>[', ']</calls>'],
    between: ', ',
  },
  nameAsKey: {
    lamp: '{"lamp": {"place": "the \\"old\\"\\nattic", "level": 3, "on": true}}',
    door: '{"door": {}}',
    section: ['<calls>[', ']</calls>'],
    between: ', ',
  },
  idAfter: {
    lamp: '<do>{"name": "lamp", "arguments": {"place": "the \\"old\\"\\nattic", "level": 3, "on": true}, "id": "k1"}</do>',
    door: '<do>{"name": "door", "arguments": {}, "id": "k2"}</do>',
    between: '',
  },
  countedIds: {
    lamp: '{"call_id": "0", "tool": "lamp", "input": {"place": "the \\"old\\"\\nattic", "level": 3, "on": true}}',
    door: '{"call_id": "1", "tool": "door", "input": {}}',
    section: ['<|do|>[', ']<|/do|>'],
    between: ', ',
  },
  nameInMarks: {
    lamp: '[TOOL_CALLS]lamp[ARGS]{"place": "the \\"old\\"\\nattic", "level": 3, "on": true}',
    door: '[TOOL_CALLS]door[ARGS]{}',
    between: '',
  },
  nameAndIdInMarks: {
    lamp: '[TOOL_CALLS]lamp[CALL_ID]a1B2c3D4e[ARGS]{"place": "the \\"old\\"\\nattic", "level": 3, "on": true}',
    door: '[TOOL_CALLS]door[CALL_ID]f5G6h7I8j[ARGS]{}',
    between: '',
  },
  nameInId: {
    lamp: '<|call|>functions.lamp:0<|args|>{"place": "the \\"old\\"\\nattic", "level": 3, "on": true}<|/call|>',
    door: '<|call|>functions.door:1<|args|>{}<|/call|>',
    section: ['<|calls|>', '<|/calls|>'],
    between: '',
  },
  lines: {
    lamp: '<act>\n<to=lamp>\n<arg=place>\nthe "old"\nattic\n</arg>\n<arg=level>\n3\n</arg>\n<arg=on>\ntrue\n</arg>\n</to>\n</act>',
    door: '<act>\n<to=door>\n</to>\n</act>',
    between: '\n',
  },
  pairs: {
    lamp: '<act>lamp\n<k>place</k>\n<v>the "old"\nattic</v>\n<k>level</k>\n<v>3</v>\n<k>on</k>\n<v>true</v>\n</act>',
    door: '<act>door\n</act>',
    between: '\n',
  },
  attributes: {
    lamp: '<to name="lamp">\n<arg name="place">the "old"\nattic</arg>\n<arg name="level">3</arg>\n<arg name="on">true</arg>\n</to>',
    door: '<to name="door">\n</to>',
    section: ['<acts>\n', '\n</acts>'],
    between: '\n',
  },
  typedAttributes: {
    lamp: '<to name="lamp">\n<arg name="place" string="true">the "old"\nattic</arg>\n<arg name="level" string="false">3</arg>\n<arg name="on" string="false">true</arg>\n</to>',
    door: '<to name="door">\n</to>',
    section: ['<acts>\n', '\n</acts>'],
    between: '\n',
  },
  stringMarks: {
    lamp: '<|act>to:lamp{place:<|"|>the "old"\nattic<|"|>,level:3,on:true}<act|>',
    door: '<|act>to:door{}<act|>',
    between: '',
  },
  python: {
    lamp: 'lamp(place="the \\"old\\"\\nattic", level=3, on=True)',
    door: 'door()',
    section: ['<|acts|>[', ']<|/acts|>'],
    between: ', ',
  },
  channel: {
    lamp: '<|channel|>work to=functions.lamp <|format|>json<|message|>{"place": "the \\"old\\"\\nattic", "level": 3, "on": true}<|call|>',
    door: '<|channel|>work to=functions.door <|format|>json<|message|>{}<|call|>',
    between: '',
  },
};

/** The output with these calls. */
export function outputOf(
  { section: [open, close] = ['', ''], between }: NotationOutput,
  calls: readonly string[],
): string {
  return `${open}${calls.join(between)}${close}`;
}
