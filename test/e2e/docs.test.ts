import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { serverSchema } from '../../src/server/config.ts';
import { metricDefinitions } from '../../src/server/metrics/definitions.ts';
import { blocksOf, textOf } from '../helpers/docPages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const guides = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md'))
  .map((file) => join('docs', file));
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  join('graphs', 'README.md'),
  join('models', 'turngraph-demo.md'),
  ...guides.sort(),
];

describe.each(pages)('%s', (page) => {
  it('has only valid JSON in its json blocks', () => {
    const wrong = blocksOf(page).filter(({ language, code }) => language === 'json' && !isJson(code));
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

const serverOptions: Readonly<Record<string, { readonly default?: unknown }>> = serverSchema.properties;
const flagOf = (option: string): string =>
  `--${serverOptions[option]?.default === true ? 'no-' : ''}${option.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`;

describe('docs/launching.md', () => {
  const text = textOf('docs/launching.md');
  const flags = Object.keys(serverSchema.properties).map(flagOf);
  const rows = [...text.matchAll(/^\| (.+) \|$/gm)]
    .map(([, row = '']) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .filter(([flag = '']) => /^--[a-z][a-z-]*$/.test(flag));

  it('has a row for every option of serve with its default and help, in order', () => {
    const expected = Object.entries(serverSchema.properties).map(([name, schema]) => {
      const { default: standard, type, description } = schema;
      const defaultText = type === 'boolean' || type === 'array' ? '' : String(standard);
      return [flagOf(name), defaultText, description];
    });
    expect(rows).toEqual(expected);
  });

  it('names only flags of serve', () => {
    const named = [...text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([flag]) => flag);
    expect([...new Set(named)].filter((flag) => flag !== '--help' && !flags.includes(flag))).toEqual([]);
  });
});

describe('docs/security.md', () => {
  it('names only flags of serve', () => {
    const named = [...textOf('docs/security.md').matchAll(/`(--[a-z][a-z-]*)/g)].map(([, flag = '']) => flag);
    const flags = Object.keys(serverSchema.properties).map(flagOf);
    expect(named.length).toBeGreaterThan(20);
    expect([...new Set(named)].filter((flag) => !flags.includes(flag))).toEqual([]);
  });
});

describe('docs/metrics.md', () => {
  const text = textOf('docs/metrics.md');

  it('has a line for every metric with its labels and help, in order', () => {
    const lines = Object.entries(metricDefinitions).map(([name, { labels, help }]) => {
      const names = Object.keys(labels).join(',');
      return `- \`${name}${names && `{${names}}`}\`: ${help}`;
    });
    // A line can be wrapped.
    const shown = text.replaceAll('\n  ', ' ').split('\n');
    expect(shown.filter((line) => line.startsWith('- `turngraph_'))).toEqual(lines);
  });

  it('names only metrics that exist in its advice', () => {
    const advice = text.slice(text.indexOf('## Troubleshooting performance'), text.indexOf('## All metrics'));
    const named = [...advice.matchAll(/`(?:rate\()?([a-z]+(?:_[a-z]+){1,})(?:\{[^`]*)?(?:\[1m\]\))?`/g)].map(
      ([, name = '']) => name,
    );
    const otherNames = ['model_name', 'system_prompt', 'tool_call_format', 'warm_up', 'turngraph_'];
    const known = Object.keys(metricDefinitions).map((name) => name.replace('turngraph_', ''));
    const baseNames = named.map((name) => name.replace(/_(?:count|sum)$/, ''));
    expect(baseNames.length).toBeGreaterThan(15);
    expect(baseNames.filter((name) => !known.includes(name) && !otherNames.includes(name))).toEqual([]);
  });
});
