import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { repositoryPath } from '../helpers/server.ts';

const scripts = {
  tools: ['--results', '--limit', '1', '--formats', 'chatml,generic', '--modes', 'free'],
  twoTurnLoop: ['--formats', 'chatml', '--limit', '1'],
  route: ['--limit', '1'],
  guidelines: ['--limit', '2'],
};
const separator = '-- next --';

/** Runs evaluations with the demo model, one after the other in one process; returns the rows of their JSON. */
async function rowsOfAll(): Promise<Record<string, Record<string, unknown>[]>> {
  const names = Object.keys(scripts);
  const runs = Object.entries(scripts).map(([name, options]) => [
    process.execPath,
    repositoryPath(`scripts/evals/${name}.mjs`),
    '--json',
    ...options,
  ]);
  const program = `for (const argv of ${JSON.stringify(runs)}) {
    process.argv = argv;
    await import(argv[1]);
    console.log('${separator}');
  }`;
  const running = promisify(execFile)(process.execPath, ['--input-type=module']);
  running.child.stdin?.end(program);
  const outputs = (await running).stdout.split(separator);
  return Object.fromEntries(names.map((name, index) => [name, JSON.parse(outputs[index] ?? '').rows]));
}

const sum = (counts: unknown): number =>
  Object.values(counts as Readonly<Record<string, number>>).reduce((total, count) => total + count, 0);

describe('the evaluations', () => {
  let rowsOf: Awaited<ReturnType<typeof rowsOfAll>>;
  beforeAll(async () => void (rowsOf = await rowsOfAll()));

  it('play items with results in both wirings', () => {
    const rows = rowsOf['tools'] ?? [];
    expect(rows.map(({ format }) => format)).toEqual(['chatml', 'generic']);
    for (const { resultOutcomes, failed, exact } of rows) {
      const { loop, generate } = resultOutcomes as Record<string, Record<string, number>>;
      // The first call is certain, and every item has one outcome.
      expect([sum(loop), sum(generate), loop?.['notCalled'], generate?.['notCalled']]).toEqual([1, 1, 0, 0]);
      expect([failed, exact]).toEqual([0, null]);
    }
  });

  it('play conversations of two turns in both wirings', () => {
    const rows = rowsOf['twoTurnLoop'] ?? [];
    expect(rows.map(({ wiring }) => wiring)).toEqual(['message', 'variable']);
    for (const row of rows) {
      expect(Object.keys(row)).toEqual(['format', 'wiring', 'called', 'exact', 'called again', 'answered', 'control']);
      expect(Number(row['called again']) + Number(row['answered'])).toBeLessThanOrEqual(1);
      // Which ones the model calls is its own affair, but a message that asks for a call is no small talk to it.
      expect(row['called']).toBeGreaterThan(0);
    }
  });

  it('route messages by model, with probabilities that sum to 1, and by patterns', () => {
    const rows = rowsOf['route'] ?? [];
    expect(rows.map(({ match }) => match)).toEqual(['model', 'patterns']);
    const [byModel, byPatterns] = rows;
    expect(byModel).toMatchObject({ sums: { least: expect.closeTo(1), most: expect.closeTo(1) }, notMatched: 0 });
    // Nothing is asked of a model: the figures are those of the committed patterns.
    expect(byPatterns).toMatchObject({ sums: null, right: { rent: 0, report: 0, talk: 1 }, notMatched: 2 });
  });

  it('offer tools behind guidelines with fewer prompt tokens than all of them', () => {
    const rows = rowsOf['guidelines'] ?? [];
    expect(rows.map(({ offer }) => offer)).toEqual(['all 12', 'by patterns', 'by model']);
    const [all, byPatterns, byModel] = rows;
    expect(Number(byPatterns?.['promptTokens'])).toBeLessThan(Number(all?.['promptTokens']));
    expect(byPatterns).toMatchObject({ found: 1, questionTokens: 0 });
    expect(Number(byModel?.['questionTokens'])).toBeGreaterThan(0);
  });
});
