import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'src');

/** The floor of each room: a folder, or a file at the top of src. */
const floors: Readonly<Record<string, number>> = {
  'frames.gen': 0,
  version: 0,
  closeCodes: 0,
  units: 0,
  fault: 1,
  abort: 1,
  ownership: 1,
  filesystem: 1,
  didYouMean: 1,
  jsonPointer: 1,
  jsonTypes: 1,
  eventLoop: 1,
  jsonLocations: 2,
  frameSize: 1,
  schema: 2,
  config: 3,
  log: 3,
  metrics: 3,
  storage: 3,
  tools: 3,
  wire: 3,
  client: 4,
  dialog: 4,
  download: 5,
  engine: 5,
  models: 6,
  projection: 6,
  graph: 7,
  agent: 8,
  nodes: 8,
  session: 9,
  server: 10,
  extensions: 10,
  start: 11,
  index: 12,
  cli: 13,
};

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .sort();
const generated = (file: string): boolean => file.endsWith('.gen.ts');
const written = files.filter((file) => !generated(file));
const textOf = new Map(files.map((file) => [file, readFileSync(join(source, file), 'utf8')]));

// Comments and strings of prose do not count: import and export statements, and dynamic imports, do.
const importPattern = /^(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm;
const importsOf = (file: string): readonly string[] =>
  [...(textOf.get(file) ?? '').matchAll(importPattern)].map(([, a, b, c]) => a ?? b ?? c ?? '');
const insideOf = (file: string): readonly string[] =>
  importsOf(file)
    .filter((path) => path.startsWith('.'))
    .map((path) => normalize(join(dirname(file), path)));
const roomOf = (file: string): string => (file.split('/')[0] ?? '').replace(/\.ts$/, '');

describe('the house', () => {
  it('has every room on a floor', () => {
    expect([...new Set(files.map(roomOf))].filter((room) => floors[room] === undefined)).toEqual([]);
  });

  it('imports only from the own room and from lower floors', () => {
    const wrong = files.flatMap((file) =>
      insideOf(file)
        .filter(
          (target) =>
            roomOf(target) !== roomOf(file) && !((floors[roomOf(target)] ?? 99) < (floors[roomOf(file)] ?? -1)),
        )
        .map((target) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('imports only files that exist', () => {
    expect(files.flatMap((file) => insideOf(file).filter((target) => !textOf.has(target)))).toEqual([]);
  });

  it('has no cycle, types included', () => {
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (done.has(file) || path.includes(file)) return;
      for (const target of insideOf(file)) visit(target, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it('has no file of more than 250 lines', () => {
    const long = written
      .map((file) => [file, (textOf.get(file) ?? '').split('\n').length - 1] as const)
      .filter(([, lines]) => lines > 250);
    expect(long).toEqual([]);
  });

  it('has no any, no default export, no enum, no namespace', () => {
    const loose =
      /(?::|\bas|<|\|)\s*any\b|@ts-ignore|@ts-nocheck|^export default|^\s*(?:export )?(?:const )?enum\s|^\s*(?:export )?namespace\s/gm;
    expect(
      written.flatMap((file) => [...(textOf.get(file) ?? '').matchAll(loose)].map(([found]) => `${file}: ${found}`)),
    ).toEqual([]);
  });

  it('lets only the rooms that are named for it import what is particular', () => {
    const only: Readonly<Record<string, RegExp>> = {
      'node-llama-cpp': /^engine\/llama\//,
      '@huggingface/jinja': /^engine\/llama\//,
      protobufjs: /^wire\//,
      ws: /^server\/|^client\//,
      ajv: /^schema\.ts$/,
      commander: /^cli\//,
      'prom-client': /^metrics\//,
      'cli-progress': /^cli\//,
    };
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((path) =>
          Object.entries(only).some(
            ([name, where]) => (path === name || path.startsWith(`${name}/`)) && !where.test(file),
          ),
        )
        .map((path) => `${file} -> ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('keeps what a browser loads free of Node and of ajv', () => {
    const reached = new Set<string>();
    const reach = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      insideOf(file).forEach(reach);
    };
    files.filter((file) => roomOf(file) === 'client').forEach(reach);
    const outside = [...reached].flatMap((file) =>
      importsOf(file)
        .filter((path) => !path.startsWith('.'))
        .map((path) => `${file} -> ${path}`),
    );
    expect(outside.filter((line) => !/ -> (?:protobufjs\/\S+|fastest-levenshtein|ws)$/.test(line))).toEqual([]);
  });

  it('has fresh generated files', () => {
    expect(() =>
      execFileSync(process.execPath, ['scripts/gen.mjs', '--check'], { cwd: root, stdio: 'pipe' }),
    ).not.toThrow();
  });

  it('has no file that nothing uses', () => {
    const used = new Set(files.flatMap(insideOf));
    const doors = ['index.ts', 'client/index.ts', 'cli/turngraph.ts'];
    expect(
      written.filter((file) => !used.has(file) && !doors.includes(file)).map((file) => relative('.', file)),
    ).toEqual([]);
  });
});
