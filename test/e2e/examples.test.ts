import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runExampleProgram } from '../helpers/examplePrograms.ts';
import { chatmlCall, lastPrompt, scriptedEngine } from '../helpers/resultGraphs.ts';
import { repositoryPath, useServer } from '../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'Paris', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: 'Atlantis', node: 'detect', answer: chatmlCall('get_weather', { city: 'Atlantis' }) },
  { match: 'Paris', node: 'answer', answer: 'It has 18 degrees.' },
  { match: 'Atlantis', node: 'answer', answer: 'Nobody knows.' },
  { match: 'tea', node: 'serve', nth: 1, answer: chatmlCall('find_person', { person: 'aunt' }) },
  { match: 'tea', node: 'serve', nth: 2, answer: chatmlCall('bring_item', { item: 'tea', room: 'library' }) },
  { match: 'tea', node: 'report', answer: 'The tea is in the library.' },
  { match: 'Send money', node: 'detect', answer: chatmlCall('transfer', { amount: 500, recipient: 'Ada' }) },
  { match: 'Send 20', node: 'detect', answer: chatmlCall('transfer', { amount: 20, recipient: 'Ada' }) },
  { match: 'balance', node: 'detect', answer: chatmlCall('show_balance', {}) },
  { match: 'how are you', node: 'sort', scores: { chat: 0.9, book: 0.06, complain: 0.02, leave: 0.02 } },
  { match: 'double room', node: 'sort', scores: { book: 0.96, complain: 0.02, leave: 0.01, chat: 0.01 } },
  { match: 'double room', node: 'reserve', answer: chatmlCall('book_room', { nights: 3, kind: 'double' }) },
  { match: 'heater', node: 'sort', scores: { complain: 0.95, book: 0.01, leave: 0.02, chat: 0.02 } },
  { match: 'heater', node: 'report', answer: chatmlCall('send_help', { problem: 'the heater does not work' }) },
  { match: 'bill', node: 'sort', scores: { leave: 0.3, book: 0.3, complain: 0.2, chat: 0.2 } },
  { match: 'mayor', node: 'answer', answer: 'Oda Brask.' },
  { match: 'blaksmith', node: 'answer', answer: 'At the forge.' },
  { match: 'inn cost', node: 'answer', answer: 'Four coppers.' },
  { match: 'I want to talk', node: 'call', answer: chatmlCall('call_colleague', {}) },
  { match: 'Hello!', node: 'talk', answer: 'Welcome.' },
  { match: 'Thank you', node: 'talk', answer: 'Have a good night.' },
  { match: 'Kiel', node: 'memory', answer: '{"facts":[{"text":"The sister of the user, Ada, lives in Kiel."}]}' },
  {
    match: 'Riga',
    node: 'memory',
    answer: '{"facts":[{"text":"Now Ada, the sister of the user, lives in Riga.","replaces":1}]}',
  },
  { node: 'memory', answer: '{"facts":[]}' },
  { match: 'sister', node: 'talk', answer: 'As you told me.' },
  { match: 'rope', node: 'sell', answer: chatmlCall('sell_item', { item: 'rope' }) },
  { match: 'crown', node: 'sell', answer: chatmlCall('sell_item', { item: 'crown' }) },
  { match: 'lamp', node: 'sell', answer: chatmlCall('sell_item', { item: 'lamp' }) },
  { match: 'Turn on the porch', node: 'act', answer: chatmlCall('set_light', { name: 'porch', on: true }) },
  { match: 'Turn on the moon', node: 'act', answer: chatmlCall('set_light', { name: 'moon', on: true }) },
  { match: 'Which lights', node: 'act', answer: chatmlCall('list_lights', {}) },
  { match: 'light', node: 'answer', answer: 'I see.' },
  { match: '', answer: 'No call.' },
]);
// The programs take the default engine.
const server = useServer({ engines: { 'llama-cpp': engine } });

const run = (program: string, answer = ''): Promise<string> => runExampleProgram(program, server().url, answer);

describe('the example', () => {
  it('weather.mjs answers with a result, and survives a call that fails', async () => {
    expect((await run('weather.mjs')).split('\n')).toEqual([
      '> What is the weather in Paris?',
      '  get_weather completed: 18 degrees',
      '< It has 18 degrees.',
      '> What is the weather in Atlantis?',
      '  get_weather failed: no weather station in Atlantis',
      '< Nobody knows.',
      '',
    ]);
  });

  it.each([
    ['yes', 'y\n', 'transfer: 20 coins to Ada.', '480 coins'],
    ['no', 'n\n', 'I did not do that', '500 coins'],
  ])('bank-teller.mjs moves money only after a confirmation: %s', async (_, input, said, balance) => {
    const printed = await run('bank-teller.mjs', input);
    expect(printed).toContain('Please tell me how much to send');
    expect(printed).toContain(said);
    expect(printed).toContain(`show_balance: ${balance}`);
  });

  it('memory.mjs remembers what the player tells', async () => {
    expect((await run('memory.mjs')).split('\n')).toEqual([
      '> My sister Ada lives in Kiel.',
      '< As you told me.',
      '  remembered: The sister of the user, Ada, lives in Kiel.',
      '> Now Ada lives in Riga.',
      '< No call.',
      '  forgotten: The sister of the user, Ada, lives in Kiel.',
      '  remembered: Now Ada, the sister of the user, lives in Riga.',
      '> Where does my sister Ada live?',
      '< As you told me.',
      '',
    ]);
    expect(lastPrompt(engine).join('\n')).toContain('Where does my sister Ada live?');
  });

  it('handover.mjs lets a person take over and give back', async () => {
    expect((await run('handover.mjs')).split('\n')).toEqual([
      '> Hello!',
      '< Welcome. [AUTO]',
      '> I want to talk to a person.',
      '< One moment: Ann is on her way. [MANUAL {"ticket":7}]',
      '> My key does not fit.',
      '< (a person answers) [MANUAL]',
      '> Thank you!',
      '< Have a good night. [AUTO]',
      '',
    ]);
    expect(lastPrompt(engine).slice(-3)).toEqual([
      'user: My key does not fit.',
      'assistant: I am Ann. Here is a new key.',
      'user: Thank you!',
    ]);
  });

  it('progress.mjs shows what a tool does, which can end the turn by itself', async () => {
    expect((await run('progress.mjs')).split('\n')).toEqual([
      '> What is the weather in Paris?',
      '  Calling the station of Paris ...',
      '  Nobody answers, I try again ...',
      '< It has 18 degrees.',
      '> What is the weather in Atlantis?',
      '  Calling the station of Atlantis ...',
      '  Nobody answers, I try again ...',
      '< There is no station any more.',
      '',
    ]);
  });

  it('butler.mjs chains two calls', async () => {
    const printed = await run('butler.mjs');
    expect(printed).toContain('< The tea is in the library.');
    expect(printed).toContain("[ 'tea -> library' ]");
  });

  it('receptionist.mjs shows the label of each message, and why a call came', async () => {
    expect((await run('receptionist.mjs')).split('\n')).toEqual([
      '> Hello, how are you today?',
      '  chat (book 6 %, complain 2 %, leave 2 %, chat 90 %)',
      '< No call.',
      '> I would like a double room for 3 nights.',
      '  book (book 96 %, complain 2 %, leave 1 %, chat 1 %)',
      '  book_room {"nights": 3, "kind": "double"}, because of book',
      '< Your room is booked.',
      '> The heater in my room does not work.',
      '  complain (book 1 %, complain 95 %, leave 2 %, chat 2 %)',
      '  send_help {"problem": "the heater does not work"}, because of complain',
      '< I am sorry. Somebody is on the way.',
      '> I am leaving now, the bill please.',
      '  no label (book 30 %, complain 20 %, leave 30 %, chat 20 %)',
      '< Would you like to book a room, or is something wrong with yours?',
      '',
    ]);
  });

  it('lore-keeper.mjs tells the entry that fits, without a model', async () => {
    const start = engine.prompts.length;
    const lines = (await run('lore-keeper.mjs')).split('\n');
    expect(lines).toEqual([
      '> Who is the mayor of Pellmoor?',
      expect.stringMatching(/^ {2}mayor\b.*, pellmoor$/),
      expect.stringContaining('< The mayor of Pellmoor is Oda Brask'),
      '> Where can I find the blaksmith?',
      expect.stringMatching(/^ {2}smith\b.*, pellmoor$/),
      expect.stringContaining('< Harl Dunmore is the blacksmith'),
      '> Who wrote Hamlet?',
      '  nothing that fits',
      '< Of that I know nothing.',
      '> Who is the mayor of Pellmoor?',
      expect.not.stringContaining('mayor'),
      expect.any(String),
      '> What does a bed at the inn cost?',
      expect.stringMatching(/^ {2}inn\b/),
      expect.stringContaining('A bed costs four coppers'),
      '',
    ]);
    expect(engine.prompts).toHaveLength(start);
  });

  it('shop.mjs sells what is in stock, and nothing twice', async () => {
    expect((await run('shop.mjs')).split('\n').map((line) => line.trimEnd())).toEqual([
      '> I would like a rope. (rope, lamp, potion)',
      '< Here you are: a rope.',
      '> Sell me a crown. (lamp, potion)',
      '< We have no crown. What would you like to buy?',
      '> I would like a rope. (lamp, potion)',
      '< We have no rope. What would you like to buy?',
      '> Give me the lamp, please. (lamp, potion)',
      '< Here you are: a lamp.',
      '',
    ]);
  });

  it('mcp.mjs plays the tools of an MCP server', async () => {
    expect((await run('mcp.mjs')).split('\n')).toEqual([
      '> Turn on the porch light.',
      '  set_light completed: the porch light is on',
      '< I see.',
      '> Turn on the moon light.',
      '  set_light failed: there is no moon light',
      '< I see.',
      '> Which lights are on?',
      '  list_lights completed: {"lit":["porch"]}',
      '< I see.',
      '',
    ]);
  });

  it.each(readdirSync(repositoryPath('examples')).filter((file) => file.endsWith('.mjs')))(
    '%s is short, and starts with how to run it',
    (file) => {
      const lines = readFileSync(repositoryPath(`examples/${file}`), 'utf8')
        .trimEnd()
        .split('\n');
      expect(lines.length).toBeLessThanOrEqual(45);
      expect(lines.slice(0, 2).join('\n')).toContain(`node examples/${file}`);
    },
  );
});
