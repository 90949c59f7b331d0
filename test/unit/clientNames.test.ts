import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { repositoryPath } from '../helpers/server.ts';

const read = (path: string): string => readFileSync(repositoryPath(path), 'utf8');
const { clients, names } = JSON.parse(read('test/e2e/clients/scenarios.json')) as {
  readonly clients: Readonly<Record<string, string>>;
  readonly names: readonly (readonly string[])[];
};

/** The source of each column of the table in docs/clients.md, and how it declares a function. */
const columns: readonly (readonly [string, string, readonly string[]])[] = [
  ['typescript', '(?:function |  async |  )', ['src/client/connect.ts', 'src/client/client.ts', 'src/client/agent.ts']],
  ['page', '(?:function |  async |  )', ['examples/browser/turngraph.js']],
  ['python', 'def ', ['examples/python/turngraph.py']],
  ['csharp', 'public (?:static )?(?:async )?(?:Task(?:<\\w+>)?|void) ', ['examples/unity/Runtime/Turngraph.cs']],
  ['gdscript', 'func ', ['examples/godot3/turngraph.gd']],
  ['gdscript', 'func ', ['examples/godot4/addons/turngraph/turngraph.gd']],
];

describe.each(columns)('the table of clients', (client, declaration, files) => {
  it(`has the names of ${files.join(', ')}`, () => {
    const source = files.map(read).join('\n');
    const column = Object.keys(clients).indexOf(client);
    const own = names.map((row) => row[column] ?? '');
    expect(own.filter((name) => !new RegExp(`${declaration}${name}[(<]`).test(source))).toEqual([]);
  });
});

it('the packages of the clients have the version of the server', () => {
  const { version } = JSON.parse(read('package.json')) as { readonly version: string };
  expect(read('examples/unity/package.json')).toContain(`"version": "${version}"`);
  expect(read('examples/godot4/addons/turngraph/plugin.cfg')).toContain(`version="${version}"`);
});
