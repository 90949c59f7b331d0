import { expect, it } from 'vitest';
import { loadCommands } from '../../../src/cli/program.ts';

it.each([
  ['--version', []],
  ['-V', []],
  ['check', ['check']],
])('loads for %s only the commands that it needs', async (argument, names) => {
  const commands = await loadCommands(argument);
  expect(commands.map((command) => command.name())).toEqual(names);
});

it('loads all commands to suggest one for a misspelt name', async () => {
  const commands = await loadCommands('serv');
  expect(commands.map((command) => command.name())).toContain('serve');
});
