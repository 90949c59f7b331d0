import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryPath } from './server.ts';

const folders = ['docs', 'examples', 'graphs', 'models', 'proto', 'scripts', 'src', 'test'];
const isWritten = (file: string): boolean =>
  file.endsWith('.md') && !file.includes('node_modules') && !file.startsWith(join('docs', 'api'));

/** All Markdown pages that are written by hand, as paths in the repository with slashes. */
export const pages: readonly string[] = [
  ...readdirSync(repositoryPath('.')),
  ...folders.flatMap((folder) =>
    readdirSync(repositoryPath(folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  ),
]
  .filter(isWritten)
  .map((file) => file.replaceAll('\\', '/'))
  .sort();

/** The text of a page. */
export const textOf = (page: string): string => readFileSync(repositoryPath(page), 'utf8');

/** A fenced code block of a page. */
export interface CodeBlock {
  readonly page: string;
  /** The page, its heading as an anchor, its language, and its number under that: `docs/client.md#errors js 1`. */
  readonly key: string;
  readonly language: string;
  readonly code: string;
}

/** The code blocks of a page, in order. */
export function blocksOf(page: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  const counts = new Map<string, number>();
  let anchor = '';
  for (const { heading, indent = '', language = '', code = '' } of partsOf(textOf(page))) {
    if (heading !== undefined) {
      anchor = anchorOf(heading);
      continue;
    }
    const group = `${page}#${anchor} ${language}`;
    const count = (counts.get(group) ?? 0) + 1;
    counts.set(group, count);
    blocks.push({
      page,
      key: `${group} ${count}`,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    });
  }
  return blocks;
}

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

type Part = Partial<Record<'heading' | 'indent' | 'language' | 'code', string>>;

const partsOf = (text: string): readonly Part[] =>
  [...text.matchAll(/^(?<indent> *)```(?<language>[^\n]*)\n(?<code>.*?)^ *```$|^#{1,6} (?<heading>[^\n]+)$/gms)].map(
    ({ groups }) => groups ?? {},
  );
