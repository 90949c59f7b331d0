import { describe, expect, it } from 'vitest';
import { react } from '../../../../src/chat/formats/react.ts';
import type { CallGrammar, ToolChoice } from '../../../../src/chat/grammar/rule.ts';
import { fits } from '../../../../src/chat/grammar/matcher.ts';
import { stringifyJson } from '../../../../src/chat/json/value.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import type { DetectOptions } from '../../../../src/chat/tool.ts';
import { createTool, parseArguments } from '../../../helpers/toolCalls.ts';

const tools = [
  createTool({
    name: 'set_light',
    description: 'Turn a named light on or off.',
    parameters: [
      { name: 'name', type: 'string', description: 'Which light.' },
      { name: 'on', type: 'boolean' },
    ],
  }),
  createTool({ name: 'get_time', description: 'Tell the time.', parameters: [] }),
  createTool({ name: 'search', description: 'Search.', parameters: [{ name: 'query', type: 'string' }] }),
];

const porch = 'Action: set_light\nAction Input: {"name": "porch", "on": true}';
const porchCall = 'set_light {"name": "porch", "on": true}';

/** A reply as one line: its calls (`!`: repaired), the answer after `>`, and the reasons of what is unread after `#`. */
function read(text: string, options: DetectOptions = {}): string {
  const { calls, answer, unread, truncated } = parseReply(text, react, { tools, ...options });
  for (const call of calls) expect(text).toContain(call.raw);
  return [
    ...calls.map(({ name, arguments: args, repaired }) => `${name} ${stringifyJson(args)}${repaired ? '!' : ''}`),
    ...(answer === '' ? [] : [`> ${answer}`]),
    ...unread.map(({ reason }) => `# ${reason}`),
    ...(truncated ? ['truncated'] : []),
  ].join(' ');
}

describe('the prompt of react', () => {
  it('tells the form of a call and of an answer, then the tools', () => {
    expect(react.render(tools.slice(0, 2))).toBe(`You can use tools. To use one, reply in this form:
Thought: what to do next
Action: the name of one tool
Action Input: its arguments as a JSON object

You then get its result as an Observation. To answer without a tool, reply in this form:
Thought: why no tool is needed
Final Answer: the answer to the user

Tools:
- set_light(name: string, on: boolean): Turn a named light on or off.
    name: Which light.
- get_time(): Tell the time.`);
  });

  it('has calls and results as actions and observations', () => {
    const call = { id: '123456789', name: 'set_light', arguments: parseArguments({ name: 'porch', on: true }) };
    expect(react.renderCalls?.([call, { ...call, name: 'get_time', arguments: new Map() }])).toBe(
      `${porch}\nAction: get_time\nAction Input: {}`,
    );
    const answered = { ...call, ok: false, content: 'no bulb', lifespan: 'TURN' } as const;
    expect(react.renderResult?.(answered)).toBe('Observation: Error: no bulb');
  });
});

describe('a call in react', () => {
  it.each([
    ['may follow a thought', `Thought: It is dark.\n${porch}`, porchCall],
    [
      'may be one of several',
      `${porch}\nThought: And now?\nAction: get_time\nAction Input: {}`,
      `${porchCall} get_time {}`,
    ],
    ['may have no input', 'Action: get_time', 'get_time {}'],
    ['may have an empty input', 'Action: get_time\nAction Input:\n', 'get_time {}'],
    ['may have a word for no input', 'Action: get_time\nAction Input: None', 'get_time {}'],
    [
      'may have Markdown',
      '**Action:** `set_light`\n**Action Input:**\n```json\n{"name": "porch", "on": true}\n```',
      porchCall,
    ],
    ['may be in a code fence', `\`\`\`\nThought: x\n${porch}\n\`\`\`\nIt is done.`, `${porchCall} > It is done.`],
    ['may be written in any case', porch.replace('Action: ', 'ACTION: ').replace('Input', 'input'), porchCall],
    ['may be numbered', porch.replace('Action:', 'Action 1:').replace('Input:', 'Input 1:'), porchCall],
    ['may be written like a function', 'Action: get_time().', 'get_time {}'],
    ['may have brackets around its name', `Action: [get_time]`, 'get_time {}'],
    ['may have its arguments behind its name', 'Action: search({"query": "cats"})', 'search {"query": "cats"}!'],
    ['may have its arguments on the next line', 'Action: search\n{"query": "cats"}', 'search {"query": "cats"}!'],
    [
      'may have another word for the input',
      'Action: search\nArguments: {"query": "cats"}',
      'search {"query": "cats"}!',
    ],
    [
      'may be an object',
      'Action: {"action": "search", "action_input": {"query": "cats"}}',
      'search {"query": "cats"}!',
    ],
    [
      'may be an object of another form',
      'Action: {"name": "search", "arguments": {"query": "cats"}}',
      'search {"query": "cats"}!',
    ],
    [
      'may have one string as text',
      'Action: search\nAction Input: cats and dogs',
      'search {"query": "cats and dogs"}!',
    ],
    ['may have mistakes in its JSON', "Action: search\nAction Input: {'query': 'cats',}", 'search {"query": "cats"}!'],
    [
      'may lack a brace',
      'Action: search\nAction Input: {"query": "a cat"\nThought: it is, I think, a cat',
      'search {"query": "a cat"}!',
    ],
    ['may have lines in its JSON', 'Action: search\nAction Input: {\n  "query": "cats"\n}', 'search {"query": "cats"}'],
    [
      'may have a keyword in a string',
      'Action: search\nAction Input: {"query": "a\\nAction: b"}',
      'search {"query": "a\\nAction: b"}',
    ],
    [
      'may have a keyword on a line of a string',
      'Action: search\nAction Input: {"query": "a\nAction: b"}',
      'search {"query": "a\\nAction: b"}!',
    ],
    ['may have a name that no tool has', 'Action: dim\nAction Input: {"to": 3}', 'dim {"to": 3}'],
    ['may have text around it', `At once.\n${porch}\nIt is done.`, `${porchCall} > At once.\nIt is done.`],
    ['may stand in a line, with its input', `It is dark. ${porch}`, `${porchCall} > It is dark.`],
    ['may stand in one line with its input', porch.replace('\n', ' '), porchCall],
    ['may stand behind the value of another', `${porch} ${porch}`, `${porchCall} ${porchCall}`],
    ['may follow reasoning', `<think>Action: get_time</think>${porch}<|im_end|>`, porchCall],
    ['does not count in reasoning', `<think>${porch}</think>\nFinal Answer: No.`, '> No.'],
    ['does not count in a code span', 'Write `Action: get_time`, then wait.', '> Write `Action: get_time`, then wait.'],
    ['is none in prose', 'This is a call to action: go home.', '> This is a call to action: go home.'],
    [
      'may be in a tag, where there is no action',
      'Thought: x\n<tool_call>{"name": "get_time", "arguments": {}}</tool_call>',
      'get_time {}',
    ],
    ['may be bare JSON, where there is no action', 'Thought: x\n{"name": "get_time", "arguments": {}}', 'get_time {}'],
  ])('%s', (_, text, expected) => expect(read(text)).toBe(expected));

  it('has its thought', () => {
    const { calls } = react.detect(`Thought: It is\ndark.\n${porch}\n${porch}`);
    expect(calls.map(({ thought }) => thought)).toEqual(['It is\ndark.', undefined]);
  });
});

describe('an answer in react', () => {
  it.each([
    ['follows its keyword', 'Thought: x\nFinal Answer: Hello!\nHow are you?', '> Hello!\nHow are you?'],
    ['may follow its thought on one line', 'Thought: I know it. Final Answer: 42', '> 42'],
    ['may be in a code fence with its thought', '```\nThought: x\nFinal Answer: 42\n```', '> 42'],
    ['has nothing of what precedes its keyword', 'Let me think.\nThought: x\nFinal Answer: 42', '> 42'],
    ['may follow an action that is none', 'Thought: x\nAction: None\nAction Input: None\nFinal Answer: 42', '> 42'],
    ['may be a paragraph after a thought', 'Thought: x\n\nHello!', '> Hello!'],
    ['may be a text without keywords', 'Hello!\n\nHow are you?', '> Hello!\n\nHow are you?'],
    ['may have data', 'Final Answer: {"name": "porch"}', '> {"name": "porch"}'],
  ])('%s', (_, text, expected) => expect(read(text)).toBe(expected));

  it('leaves the reasoning before it in the residual text', () => {
    expect(parseReply('<think>why</think>\nThought: x\nFinal Answer: y', react)).toMatchObject({
      content: 'y',
      reasoning: 'why',
    });
  });
});

const noDecision = 'it has no name of a tool and no Final Answer';

describe('what react cannot read', () => {
  it.each([
    ['a thought alone', 'Thought: I wonder.', `# ${noDecision}`],
    ['an action that is none', 'Thought: x\nAction: no tool needed', `# ${noDecision}`],
    ['an action without a name', 'Action:\nAction Input: {}', '# "" is no name of a tool'],
    [
      'a sentence as an action',
      'Action: light the porch\nAction Input: {}',
      '# "light the porch" is no name of a tool',
    ],
    ['an input without an action', 'Action Input: {"name": "porch"}', '# no Action precedes its Action Input'],
    [
      'an input that is text, of two parameters',
      'Action: set_light\nAction Input: porch',
      '# its arguments are no JSON object',
    ],
    ['malformed JSON', 'Action: search\nAction Input: {"query" = 1}', '# the JSON of its arguments is malformed'],
    ['the beginning of a name', 'Action: get_t', '# its Action Input is not there truncated'],
    ['an input that is not there', 'Action: search\nAction Input:', '# its arguments are cut off truncated'],
    [
      'a second input',
      'Action: search {"query": "a"}\nAction Input: {}',
      'search {"query": "a"}! # no Action precedes its Action Input',
    ],
    [
      'arguments far from their action',
      'Action: search\nI look: for {"query": 1}',
      '# its Action Input has another name',
    ],
    ['an object that is no call', 'Action: {"a": 1}', '# its Action is no call'],
    [
      'JSON that is cut off',
      'Action: search\nAction Input: {"query": "ca',
      '# the JSON of its arguments is not closed truncated',
    ],
    ['a keyword that is cut off', `${porch}\nActi`, `${porchCall} # the text ends inside a keyword truncated`],
    ['an action that is cut off', 'Action: get_time\nAction Inp', '# its Action Input is not there truncated'],
    [
      'an invented result',
      `${porch}\nObservation: on\nFinal Answer: It is on.`,
      `${porchCall} # it goes on with a result that it made up`,
    ],
    [
      'an invented result on the same line',
      `${porch} Observation: on`,
      `${porchCall} # it goes on with a result that it made up`,
    ],
    [
      'an invented call after such a result',
      `${porch}\nObservation: on\n${porch}`,
      `${porchCall} # it goes on with a result that it made up`,
    ],
    [
      'an answer to a result that is not there',
      'Observation: on\nFinal Answer: It is on.',
      '# it goes on with a result that it made up',
    ],
  ])('is %s', (_, text, expected) => expect(read(text)).toBe(expected));

  it('costs no good call, and is no part of the answer', () => {
    const bad = 'Action: search\nAction Input: {"query" = 1}';
    expect(read(`At once.\n${bad}\n${porch}\nDone.`)).toBe(
      `${porchCall} > At once.\nDone. # the JSON of its arguments is malformed`,
    );
    expect(parseReply(`At once.\n${bad}\nThought: x`, react)).toMatchObject({
      content: `At once.\n${bad}`,
      answer: 'At once.',
      unread: [{ text: bad }],
    });
  });

  it('is what may go on after the token limit', () => {
    const cut = (text: string): string => read(text, { isCutOff: true });
    expect(cut('Action: get_time')).toBe('# its Action Input is not there truncated');
    expect(cut('Action: search\nAction Input: cat')).toBe('# its arguments are cut off truncated');
    expect(cut('Thought: It is')).toBe(`# ${noDecision} truncated`);
    expect(cut(porch)).toBe(porchCall);
    expect(cut('Final Answer: It is')).toBe('> It is');
  });

  it('is only noted after a stop string, where nothing follows it', () => {
    expect(react.stop).toEqual(['\nObservation:']);
    expect(read(`${porch}\nObservation:`)).toBe(porchCall);
  });
});

describe('the grammar of react', () => {
  const grammarOf = (choice: ToolChoice): CallGrammar => {
    const grammar = react.grammar?.(tools, choice);
    if (!grammar) throw new Error('there is no grammar');
    return grammar;
  };

  it.each([
    [porch, true],
    [`Thought: It is dark.\n${porch}`, true],
    ['Action: get_time\nAction Input: {}', true],
    [porch.replace('true', '1'), false],
    [porch.replace('set_light', 'dim'), false],
    [`${porch}\n`, false],
    [`Thought: ${'x'.repeat(201)}\n${porch}`, false],
    [`Thought: Final Answer: no\n${porch}`, false],
    ['Final Answer: no', false],
  ])('of a required call takes %j: %s', (text, expected) => {
    const grammar = grammarOf({ kind: 'required' });
    expect(grammar.kind === 'full' && fits(text, grammar.rule)).toBe(expected);
    if (expected) expect(react.detect(text, { tools })).toMatchObject({ calls: [{ repaired: false }], residual: '' });
  });

  it('of a named tool takes only its calls', () => {
    const grammar = grammarOf({ kind: 'tool', name: 'get_time' });
    expect(grammar.kind === 'full' && fits(porch, grammar.rule)).toBe(false);
  });

  it('of calls that may be is triggered by an action at the start of a line', () => {
    const grammar = grammarOf({ kind: 'auto' });
    if (grammar.kind !== 'lazy') throw new Error('it is not lazy');
    const triggers = grammar.triggers.map(({ text, where, rule }) => [
      text,
      where,
      fits(`${text}${porch.slice(7)}`, rule),
    ]);
    expect(triggers).toEqual([
      ['\nAction:', 'anywhere', true],
      ['Action:', 'first', true],
    ]);
  });
});
