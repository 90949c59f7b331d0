// Generates the table of docs/clients.md from the scenarios that the tests run with every client.
import { readFileSync } from 'node:fs';

const heading = '## What each client has\n';
const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** The page of the clients with its table. */
export function clientPage() {
  const page = read('docs/clients.md');
  const start = page.indexOf(heading);
  if (start < 0) throw new Error(`docs/clients.md has no heading "${heading.trim()}"`);
  const next = page.indexOf('\n## ', start + heading.length);
  return `${page.slice(0, start)}${section()}${next < 0 ? '' : page.slice(next)}`;
}

function section() {
  const { clients, names, scenarios } = JSON.parse(read('test/e2e/clients/scenarios.json'));
  const rows = [
    Object.values(clients),
    Object.values(clients).map(() => '-'),
    ...names.map((row) => row.map((name) => `\`${name}\``)),
  ];
  const table = rows.map((row) => `| ${row.join(' | ')} |`).join('\n');
  const list = scenarios.map(({ title }) => `- ${title}`).join('\n');
  return `${heading}
The same methods, in the spelling of each language; Godot 4 has those of GDScript:

${table}

The tests run the same scenarios with every client but that for Godot 4:

${list}
`;
}
