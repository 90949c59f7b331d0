import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { loadCommands } from '../src/cli/program.ts';
import { pages, textOf } from './helpers/docPages.ts';
import { anchorsOf, linksOf } from './helpers/markdown.ts';
import { repositoryPath } from './helpers/server.ts';

/** Folders of the repository that are made from others, or that the repository does not hold. */
const isMade = /(?:^|\/)(?:node_modules|dist|coverage|\.git|downloads|docs\/api)(?:\/|$)/;
const folders = [
  'src',
  'test',
  'scripts',
  'docs',
  'examples',
  'playground',
  'conformance',
  'proto',
  'graphs',
  'models',
];
const files = folders
  .filter((folder) => existsSync(repositoryPath(folder)))
  .flatMap((folder) =>
    readdirSync(repositoryPath(folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !isMade.test(file));
const names = new Set(files.map((file) => basename(file)));
const rooms = readdirSync(repositoryPath('src'));

const withoutBlocks = (text: string): string => text.replaceAll(/^ *```.*?^ *```$/gms, '');
const codeOf = (text: string): readonly string[] =>
  [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);

/** Whether a page names a file or folder of this repository: what else has a slash is a media type, a model or a fraction. */
const isPath = (code: string): boolean =>
  /^[\w@.-]+(?:\/[\w@.-]+)+\/?$/.test(code) && [...folders, ...rooms].includes(code.split('/')[0] ?? '');
const isSourceFile = (code: string): boolean => /^[\w-]+\.(?:ts|mjs)$/.test(code);

const exists = (page: string, path: string): boolean =>
  ['.', 'src', 'examples/my-game', dirname(page)].some((base) => existsSync(repositoryPath(join(base, path))));

/** Files that a page tells its reader to write, or that belong to somebody else. */
const notHere = new Set(['extension.mjs', 'talk.mjs', 'turngraph.mjs', 'src/a/b.ts']);
/** What the archive of the demo model's recipe is unpacked to. */
const isOfRecipe = /^(?:scripts\/demo-model|test\/model\/demoRecipe\.test\.ts|test\/scripts\/demoText\.test\.ts)/;

describe.each(pages)('%s', (page) => {
  const text = textOf(page);

  it('names only files and folders that exist', () => {
    const code = codeOf(text).filter((each) => !isMade.test(each) && !notHere.has(each) && !isOfRecipe.test(each));
    expect(code.filter((each) => isPath(each) && !exists(page, each))).toEqual([]);
    expect(code.filter((each) => isSourceFile(each) && !names.has(each))).toEqual([]);
  });

  it('links only to files and headings that exist', () => {
    const broken = linksOf(text).filter((target) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!existsSync(repositoryPath(file))) return true;
      return anchor !== undefined && file.endsWith('.md') && !anchorsOf(textOf(file)).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('has no line of prose over 120 characters', () => {
    const prose = withoutBlocks(text)
      .split('\n')
      .filter((line) => !/^\s*\||^\s*<|^\[?!?\[/.test(line));
    // Code and links are one word, which cannot be wrapped.
    const words = (line: string): number =>
      line
        .replaceAll(/`[^`]*`|\[[^\]]*\]\([^)]*\)/g, '_')
        .trim()
        .split(' ').length;
    expect(prose.filter((line) => line.length > 120 && words(line) > 2)).toEqual([]);
  });
});

const { scripts } = JSON.parse(readFileSync(repositoryPath('package.json'), 'utf8')) as { scripts: object };
const commands = await loadCommands(undefined);

/** The long options of a command and of those below it. */
const flagsOf = (command: Command): readonly string[] => [
  ...command.options.flatMap(({ long }) => long ?? []),
  ...command.commands.flatMap(flagsOf),
];

/** Options of other programs that pages name: inference servers, code signing, a closed server. */
const foreignFlags = `
  --api-key --api-key-file --disable-telemetry --enable-cache-report --enable-prompt-tokens-details
  --enable-tokenizer-info-endpoint --model-path --network-access --sleep-idle-seconds --threads-batch
  --mtime --numeric-owner --entitlements --ignore-missing --keychain-profile --sign --strip-unneeded
  --verify`;

const wordsOf = (page: string): number => textOf(page).split(/\s+/).filter(Boolean).length;

describe('the documents', () => {
  it('have words that one person reads: 1,500 in README.md, 45,000 in docs', () => {
    expect(wordsOf('README.md')).toBeLessThanOrEqual(1_500);
    expect(wordsOf('docs/tutorial.md')).toBeLessThanOrEqual(1_500);
    const docs = pages.filter((page) => page.startsWith('docs/'));
    expect(docs.reduce((sum, page) => sum + wordsOf(page), 0)).toBeLessThanOrEqual(45_000);
  });

  it('name only commands of npm that package.json has', () => {
    const named = pages.flatMap((page) =>
      [...textOf(page).matchAll(/\bnpm run ([\w:]+)/g)].map(([, name = '']) => name),
    );
    expect(named.length).toBeGreaterThan(20);
    expect([...new Set(named)].filter((name) => !(name in scripts))).toEqual([]);
  });

  it('name only commands of turngraph that exist', () => {
    const known = commands.map((command) => command.name());
    const named = pages.flatMap((page) =>
      [...textOf(page).matchAll(/(?:npx |`)turngraph ([a-z]+)/g)].map(([, name = '']) => name),
    );
    expect(named.length).toBeGreaterThan(20);
    expect([...new Set(named)].filter((name) => !known.includes(name))).toEqual([]);
  });

  it('name only options that a command or a program of this repository has', () => {
    const programs = files
      .filter((file) => /^(?:scripts|examples|test|playground)\/.*\.(?:mjs|ts|py|cs|gd)$/.test(file))
      .map((file) => readFileSync(repositoryPath(file), 'utf8'))
      .join('\n');
    const known = new Set([...commands.flatMap(flagsOf), '--help', '--version', ...foreignFlags.trim().split(/\s+/)]);
    const isOfProgram = (flag: string): boolean =>
      new RegExp(String.raw`(?:'${flag.slice(2)}'|\b${flag.slice(2)}):|${flag}\b`).test(programs);
    const named = pages.flatMap((page) =>
      [...textOf(page).matchAll(/(?<![\w-])--[a-z][a-z-]*(?![\w-])/g)].map(([flag]) => `${flag} in ${page}`),
    );
    const unknown = named.filter((each) => {
      const [flag = ''] = each.split(' ');
      return !known.has(flag) && !isOfProgram(flag);
    });
    expect([...new Set(unknown)]).toEqual([]);
  });
});
