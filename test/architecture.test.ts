import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { requirements } from './helpers/requirements.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'src');

/** The layer of each module: a folder, or a file at the top of src. A module imports from lower layers only. */
const layers: Readonly<Record<string, number>> = {
  base: 0,
  protocol: 1,
  client: 2,
  chat: 2,
  inference: 3,
  graph: 4,
  server: 5,
  index: 6,
  cli: 7,
};

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .sort();
// The conformance kit, by its paths from src.
const kit = readdirSync(join(root, 'conformance'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && file !== 'vite.config.ts')
  .map((file) => `../conformance/${file}`)
  .sort();
const generated = (file: string): boolean => file.endsWith('.gen.ts');
const sources = files.filter((file) => !generated(file));
const textOf = new Map([...files, ...kit].map((file) => [file, readFileSync(join(source, file), 'utf8')]));

// Matches import and export statements and dynamic imports, but not text in comments and strings.
const importPattern = /^(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm;
const importsOf = (file: string): readonly string[] =>
  [...(textOf.get(file) ?? '').matchAll(importPattern)].map(([, a, b, c]) => a ?? b ?? c ?? '');
const insideOf = (file: string): readonly string[] =>
  importsOf(file)
    .filter((path) => path.startsWith('.'))
    .map((path) => normalize(join(dirname(file), path)));
const withoutComments = (text: string): string => text.replaceAll(/\/\*.*?\*\/|^\s*\/\/.*$/gms, '');
const moduleOf = (file: string): string => (file.split('/')[0] ?? '').replace(/\.ts$/, '');

/** Each cycle of a graph, as `a -> b -> a`. */
function cyclesIn(targets: ReadonlyMap<string, Iterable<string>>): readonly string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (node: string, path: readonly string[]): void => {
    if (path.includes(node)) cycles.push([...path.slice(path.indexOf(node)), node].join(' -> '));
    if (done.has(node) || path.includes(node)) return;
    for (const target of targets.get(node) ?? []) visit(target, [...path, node]);
    done.add(node);
  };
  for (const node of targets.keys()) visit(node, []);
  return cycles;
}

/** The functions of src with more than 40 lines, the longest first: their lines, comments included, and their place. */
function functionLengths(): readonly (readonly [lines: number, place: string])[] {
  const folder = mkdtempSync(join(tmpdir(), 'turngraph-'));
  const config = join(folder, 'oxlintrc.json');
  writeFileSync(config, JSON.stringify({ rules: { 'max-lines-per-function': ['error', { max: 40 }] } }));
  const options = ['-c', config, '-A', 'all', '-D', 'max-lines-per-function', '--format', 'json', '--ignore-pattern'];
  const oxlint = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');
  const { stdout } = spawnSync(process.execPath, [oxlint, ...options, '**/*.gen.ts', 'src'], {
    cwd: root,
    encoding: 'utf8',
  });
  rmSync(folder, { recursive: true });
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: readonly { message: string; filename: string; labels: readonly { span: { line: number } }[] }[];
  };
  return diagnostics
    .map(({ message, filename, labels }) => {
      const [, lines = ''] = /too many lines \((\d+)\)/.exec(message) ?? [];
      return [Number(lines), `${filename}:${labels[0]?.span.line}`] as const;
    })
    .toSorted(([one], [other]) => other - one);
}

describe('the architecture of src', () => {
  it('has a layer for every module', () => {
    expect([...new Set(files.map(moduleOf))].filter((name) => layers[name] === undefined)).toEqual([]);
  });

  it('imports only from the own module and from lower layers', () => {
    const violations = files.flatMap((file) =>
      insideOf(file)
        .filter(
          (target) =>
            moduleOf(target) !== moduleOf(file) && !((layers[moduleOf(target)] ?? 99) < (layers[moduleOf(file)] ?? -1)),
        )
        .map((target) => `${file} -> ${target}`),
    );
    expect(violations).toEqual([]);
  });

  it('imports only files that exist', () => {
    expect(files.flatMap((file) => insideOf(file).filter((target) => !textOf.has(target)))).toEqual([]);
  });

  it('has no cycle, types included', () => {
    expect(cyclesIn(new Map([...files, ...kit].map((file) => [file, insideOf(file)])))).toEqual([]);
  });

  it('has no cycle between the folders of a module', () => {
    const cycles = [2, 3].flatMap((depth) => {
      // A file counts as its folder of this depth, or as itself where it is less deep.
      const partOf = (file: string): string => file.split('/').slice(0, depth).join('/');
      const targets = new Map<string, Set<string>>();
      for (const file of files) {
        const part = partOf(file);
        const others = insideOf(file)
          .map(partOf)
          .filter((target) => target !== part);
        targets.set(part, new Set([...(targets.get(part) ?? []), ...others]));
      }
      return cyclesIn(targets);
    });
    expect(cycles).toEqual([]);
  });

  it('has no file of more than 400 lines', () => {
    const lengths = [...sources, ...kit].map(
      (file) => [(textOf.get(file) ?? '').split('\n').length - 1, file] as const,
    );
    const longest = lengths.toSorted(([one], [other]) => other - one);
    console.log(
      `the longest files: ${longest
        .slice(0, 3)
        .map(([lines, file]) => `${file} ${lines}`)
        .join(', ')}`,
    );
    expect(longest.filter(([lines]) => lines > 400)).toEqual([]);
  });

  it('has no function of more than 60 lines', () => {
    const lengths = functionLengths();
    console.log(
      `the longest functions: ${lengths
        .slice(0, 3)
        .map(([lines, place]) => `${place} ${lines}`)
        .join(', ')}`,
    );
    expect(lengths.length).toBeGreaterThan(0);
    expect(lengths.filter(([lines]) => lines > 60)).toEqual([]);
  });

  it('has no file of fewer than 30 lines with one user, but for call formats and commands', () => {
    const users = new Map<string, number>();
    for (const target of files.flatMap((file) => [...new Set(insideOf(file))]))
      users.set(target, (users.get(target) ?? 0) + 1);
    const crumbs = sources.filter((file) => (textOf.get(file) ?? '').split('\n').length <= 30 && users.get(file) === 1);
    expect(crumbs.filter((file) => !/^chat\/formats\/|^cli\/commands\//.test(file))).toEqual([]);
  });

  it('is mirrored by the folders of test/unit', () => {
    const tested = readdirSync(join(root, 'test', 'unit'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => relative(join(root, 'test', 'unit'), join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
    const places = [source, root].map((place) => (folder: string) => existsSync(join(place, folder)));
    expect(tested.length).toBeGreaterThan(20);
    expect(tested.filter((folder) => !places.some((has) => has(folder)))).toEqual([]);
  });

  it('has no any, no default export, no enum, no namespace', () => {
    const forbidden =
      /(?::|\bas|<|\|)\s*any\b|@ts-ignore|@ts-nocheck|^export default|^\s*(?:export )?(?:const )?enum\s|^\s*(?:export )?namespace\s/gm;
    expect(
      [...sources, ...kit].flatMap((file) =>
        [...withoutComments(textOf.get(file) ?? '').matchAll(forbidden)].map(([found]) => `${file}: ${found}`),
      ),
    ).toEqual([]);
  });

  it('imports each library from one module only', () => {
    const only: Readonly<Record<string, RegExp>> = {
      'node-llama-cpp': /^inference\/(?:llama|decoding)\//,
      protobufjs: /^protocol\/codec\//,
      ws: /^server\/|^client\//,
      ajv: /^protocol\/schema\.ts$/,
      '@cfworker/json-schema': /^client\/executor\//,
      commander: /^cli\//,
      'prom-client': /^server\/metrics\//,
      'cli-progress': /^cli\//,
    };
    const violations = files.flatMap((file) =>
      importsOf(file)
        .filter((path) =>
          Object.entries(only).some(
            ([name, where]) => (path === name || path.startsWith(`${name}/`)) && !where.test(file),
          ),
        )
        .map((path) => `${file} -> ${path}`),
    );
    expect(violations).toEqual([]);
  });

  it('has no Node or ajv imports in the client for browsers', () => {
    const reached = new Set<string>();
    const reach = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      insideOf(file).forEach(reach);
    };
    files.filter((file) => moduleOf(file) === 'client').forEach(reach);
    const outside = [...reached].flatMap((file) =>
      importsOf(file)
        .filter((path) => !path.startsWith('.'))
        .map((path) => `${file} -> ${path}`),
    );
    expect(
      outside.filter(
        (line) => !/ -> (?:protobufjs\/\S+|fastest-levenshtein|@cfworker\/json-schema|re2js|ws)$/.test(line),
      ),
    ).toEqual([]);
  });

  it('has no unused file', () => {
    const used = new Set(files.flatMap(insideOf));
    const entryPoints = ['index.ts', 'client/index.ts', 'cli/turngraph.ts', 'inference/process/child.ts'];
    expect(
      sources.filter((file) => !used.has(file) && !entryPoints.includes(file)).map((file) => relative('.', file)),
    ).toEqual([]);
  });
});

describe('the conformance kit', () => {
  it('uses nothing of the server but the protocol, and no library but ws', () => {
    const outside = kit.flatMap((file) =>
      [...insideOf(file), ...importsOf(file).filter((path) => !path.startsWith('.'))]
        .filter((path) => !/^(?:\.\.\/conformance\/|\.\.\/src\/protocol\/|node:)|^ws$/.test(path))
        .map((path) => `${file} -> ${path}`),
    );
    expect(outside).toEqual([]);
  });
});

describe('the tests', () => {
  it('are skipped only by a requirement of test/helpers/requirements.mjs, which npm test lists', () => {
    const skips = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .flatMap((file) => {
        const text = readFileSync(join(root, 'test', file), 'utf8');
        const calls = text.matchAll(
          /^ *(?:it|test|describe)\.(?:skip|only|todo|runIf)\w*(?:\(isSkipped\('(\w+)'\)\))?/gm,
        );
        return [...calls].map(([call, name]) => `test/${file.replaceAll('\\', '/')}: ${name ?? call.trim()}`);
      });
    const expected = Object.entries(requirements).map(([name, { file }]) => `${file}: ${name}`);
    expect(skips.toSorted()).toEqual(expected.toSorted());
  });
});
