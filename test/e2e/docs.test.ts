import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { serverSchema, variableOf } from '../../src/config.ts';
import { checkGraph } from '../../src/index.ts';
import { metricDefinitions } from '../../src/metrics/definitions.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const guides = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md'))
  .map((file) => join('docs', file));
const pages = ['README.md', join('graphs', 'README.md'), ...guides.sort()];
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

/** A piece of code in a page. */
interface Block {
  readonly language: string;
  readonly code: string;
}

const fenced = /^```([^\n]*)\n(.*?)^```$/gms;
const blocksOf = (text: string): readonly Block[] =>
  [...text.matchAll(fenced)].map(([, language = '', code = '']) => ({ language, code }));
const withoutBlocks = (text: string): string => text.replaceAll(fenced, '');
const withoutCode = (text: string): string => withoutBlocks(text).replaceAll(/`[^`\n]+`/g, '');

/** Where the links of a page lead, those to other sites left out. */
const linksOf = (page: string): readonly string[] =>
  [...withoutCode(textOf(page)).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** The anchors of a page's headings, as forges make them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const slugs = [...withoutBlocks(textOf(page)).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  });
  return new Set(slugs);
}

describe.each(pages)('%s', (page) => {
  it('links to files that exist, and to headings that they have', () => {
    const broken = linksOf(page).filter((target) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : relative(root, join(root, dirname(page), path));
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('has only JSON that is JSON', () => {
    const wrong = blocksOf(textOf(page)).filter(({ language, code }) => language === 'json' && !isJson(code));
    expect(wrong).toEqual([]);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const isGraph = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'start_node' in value && 'nodes' in value;

/** The graphs that a page shows. */
const graphsOf = (page: string): readonly unknown[] =>
  blocksOf(textOf(page))
    .filter(({ language }) => language === 'json')
    .map(({ code }): unknown => JSON.parse(code))
    .filter(isGraph);

describe.each(['README.md', 'docs/graphs.md', 'docs/templates.md'])('%s', (page) => {
  it('shows graphs in which the server finds nothing wrong, and nothing to warn of', async () => {
    const graphs = graphsOf(page);
    expect(graphs).not.toEqual([]);
    for (const graph of graphs) {
      const verdict = await checkGraph(graph, { catalogue: join(root, 'models.json'), storageRoot: root });
      expect({ graph, ...verdict }).toEqual({ graph, faults: [], warnings: [] });
    }
  });
});

describe('docs/launching.md', () => {
  const text = textOf('docs/launching.md');
  const flagOf = (option: string): string => `--${option.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`;
  const flags = Object.keys(serverSchema.properties).map(flagOf);
  const rows = [...text.matchAll(/^\| (.+) \|$/gm)]
    .map(([, row = '']) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .filter(([flag = '']) => /^--[a-z][a-z-]*$/.test(flag));

  it('has a row for every option of serve, with its default and its variable, in their order', () => {
    const expected = Object.entries(serverSchema.properties).map(([name, schema]) => {
      const { default: standard, type } = schema;
      const shown = type === 'boolean' || type === 'array' ? '' : String(standard);
      return [flagOf(name), shown, variableOf(name)];
    });
    expect(rows.map(([flag, standard, variable]) => [flag, standard, variable])).toEqual(expected);
  });

  it('names no flag that serve does not have, but for those that npm needs for another system', () => {
    const named = [...text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([flag]) => flag);
    const others = ['--help', '--omit', '--os', '--cpu'];
    expect([...new Set(named)].filter((flag) => !others.includes(flag) && !flags.includes(flag))).toEqual([]);
  });
});

describe('docs/metrics.md', () => {
  const text = textOf('docs/metrics.md');
  const rows = [...text.matchAll(/^\| (`turngraph_.+) \|$/gm)].map(([, row = '']) =>
    row.split('|').map((cell) => cell.trim().replaceAll('`', '')),
  );

  it('has a row for every metric, with its type, its labels and its help, in their order', () => {
    expect(rows).toEqual(
      Object.entries(metricDefinitions).map(([name, { type, labels, help }]) => [
        name,
        type,
        Object.keys(labels).join(' '),
        help,
      ]),
    );
  });

  it('advises to look at nothing that is not there', () => {
    const advice = text.slice(text.indexOf('## What do I look at'), text.indexOf('## Every metric'));
    const named = [...advice.matchAll(/`(?:rate\()?([a-z]+(?:_[a-z]+){1,})(?:\{[^`]*)?(?:\[1m\]\))?`/g)].map(
      ([, name = '']) => name,
    );
    const elsewhere = ['model_name', 'system_prompt', 'tool_call_format', 'warm_up', 'turngraph_'];
    const known = Object.keys(metricDefinitions).map((name) => name.replace('turngraph_', ''));
    const without = named.map((name) => name.replace(/_(?:count|sum)$/, ''));
    expect(without.length).toBeGreaterThan(15);
    expect(without.filter((name) => !known.includes(name) && !elsewhere.includes(name))).toEqual([]);
  });
});
