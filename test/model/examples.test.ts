import { describe, expect, it } from 'vitest';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { runExampleProgram } from '../helpers/examplePrograms.ts';
import { useServer } from '../helpers/server.ts';

const server = useServer({ engines: { 'llama-cpp': llamaEngine() } });

describe('an example with the demo model', () => {
  it.each([
    [
      'bank-teller.mjs',
      ['< Please tell me how much to send', 'Send 20 coins to Ada?', 'transfer: 20 coins', '480 coins'],
    ],
    ['weather.mjs', ['get_weather completed: 18 degrees', 'get_weather failed: no weather station in Atlantis']],
    ['shop.mjs', ['< Here you are: a rope.', '< We have no crown.', '< Here you are: a lamp.']],
    ['receptionist.mjs', ['book_room {"nights": 3, "kind": "double"}, because of book', '< Here is your bill.']],
    ['butler.mjs', ['completed find_person']],
    ['memory.mjs', ['> Where does my sister Ada live?']],
    ['handover.mjs', ['One moment: Ann is on her way. [MANUAL', '< (a person answers) [MANUAL]']],
    ['progress.mjs', ['  Calling the station of Paris ...', '< There is no station any more.']],
    ['mcp.mjs', ['set_light completed: the porch light is on', 'set_light failed: there is no moon light']],
    [
      'lore-keeper.mjs',
      ['< The mayor of Pellmoor is Oda Brask', '< Harl Dunmore is the blacksmith', '< Of that I know nothing.'],
    ],
  ])('talks as it says: %s', async (program, said) => {
    const printed = await runExampleProgram(program, server().url, 'y\n');
    for (const line of said) expect(printed).toContain(line);
  });
});
