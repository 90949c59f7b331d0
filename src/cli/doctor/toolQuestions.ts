import type { Tool } from '../../chat/tool.ts';

/** A question of the tool benchmark. */
export interface ToolQuestion {
  readonly message: string;
  /** The right call; undefined: no tool fits, and the model should answer in plain text. */
  readonly expectedCall: ExpectedCall | undefined;
}

/** A call that counts as right. */
export interface ExpectedCall {
  readonly name: string;
  /** Accepted values of each parameter; case-insensitive. */
  readonly arguments: Readonly<Record<string, readonly (string | number | boolean)[]>>;
}

type Properties = NonNullable<Tool['parameters']['properties']>;

const createTool = (name: string, description: string, properties: Properties): Tool => ({
  name,
  description,
  parameters: { type: 'object', properties, required: Object.keys(properties) },
  consequential: false,
  notes: new Map(),
});

/** Tools offered with every question. They differ clearly, so that a small model can choose. */
export const questionTools: readonly Tool[] = [
  createTool('set_light', 'Turn the light of a room on or off.', {
    room: { type: 'string', description: 'Which room.' },
    on: { type: 'boolean', description: 'true turns it on, false turns it off.' },
  }),
  createTool('give_item', 'Give the user things out of the store.', {
    item: { type: 'string', description: 'What is given.' },
    count: { type: 'integer', description: 'How many.' },
  }),
];

const light = (room: string, on: boolean): ExpectedCall => ({
  name: 'set_light',
  arguments: { room: [room, `the ${room}`], on: [on] },
});
const gift = (singular: string, plural: string, count: number): ExpectedCall => ({
  name: 'give_item',
  arguments: { item: [singular, plural], count: [count] },
});

/** Questions of the tool benchmark: five want a call, the last one none. */
export const toolQuestions: readonly ToolQuestion[] = [
  { message: 'Please turn on the light in the kitchen.', expectedCall: light('kitchen', true) },
  { message: 'Switch the bedroom light off.', expectedCall: light('bedroom', false) },
  { message: 'Give me 3 apples.', expectedCall: gift('apple', 'apples', 3) },
  { message: 'I need 12 torches for the cave.', expectedCall: gift('torch', 'torches', 12) },
  { message: 'It is dark in the cellar, I cannot see a thing in there.', expectedCall: light('cellar', true) },
  { message: 'Good evening! How are you today?', expectedCall: undefined },
];
