import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { repositoryPath } from '../helpers/server.ts';

const run = promisify(execFile);

/** Runs an evaluation with the demo model; returns the rows of its JSON. */
async function rowsOf(script: string, ...options: readonly string[]): Promise<Record<string, unknown>[]> {
  const path = repositoryPath(`scripts/evals/${script}`);
  const { stdout } = await run(process.execPath, [path, '--json', ...options]);
  return JSON.parse(stdout).rows;
}

const sum = (counts: unknown): number =>
  Object.values(counts as Readonly<Record<string, number>>).reduce((total, count) => total + count, 0);

describe('the evaluations', () => {
  it('play items with results in both wirings', async () => {
    const rows = await rowsOf(
      'tools.mjs',
      '--results',
      '--limit',
      '1',
      '--formats',
      'chatml,generic',
      '--modes',
      'free',
    );
    expect(rows.map(({ format }) => format)).toEqual(['chatml', 'generic']);
    for (const { resultOutcomes, failed, exact } of rows) {
      const { loop, generate } = resultOutcomes as Record<string, Record<string, number>>;
      // The first call is certain, and every item has one outcome.
      expect([sum(loop), sum(generate), loop?.['notCalled'], generate?.['notCalled']]).toEqual([1, 1, 0, 0]);
      expect([failed, exact]).toEqual([0, null]);
    }
  });

  it('play conversations of two turns in both wirings', async () => {
    const rows = await rowsOf('twoTurnLoop.mjs', '--formats', 'chatml', '--limit', '1');
    expect(rows.map(({ wiring }) => wiring)).toEqual(['message', 'variable']);
    for (const row of rows) {
      expect(Object.keys(row)).toEqual(['format', 'wiring', 'called', 'exact', 'called again', 'answered', 'control']);
      expect(Number(row['called again']) + Number(row['answered'])).toBeLessThanOrEqual(1);
      // Which ones the model calls is its own affair, but a message that asks for a call is no small talk to it.
      expect(row['called']).toBeGreaterThan(0);
    }
  });

  it('route messages by model, with probabilities that sum to 1, and by patterns', async () => {
    const rows = await rowsOf('route.mjs', '--limit', '1');
    expect(rows.map(({ match }) => match)).toEqual(['model', 'patterns']);
    const [byModel, byPatterns] = rows;
    expect(byModel).toMatchObject({ sums: { least: expect.closeTo(1), most: expect.closeTo(1) }, notMatched: 0 });
    // Nothing is asked of a model: the figures are those of the committed patterns.
    expect(byPatterns).toMatchObject({ sums: null, right: { rent: 0, report: 0, talk: 1 }, notMatched: 2 });
  });

  it('offer tools behind guidelines with fewer prompt tokens than all of them', async () => {
    const rows = await rowsOf('guidelines.mjs', '--limit', '2');
    expect(rows.map(({ offer }) => offer)).toEqual(['all 12', 'by patterns', 'by model']);
    const [all, byPatterns, byModel] = rows;
    expect(Number(byPatterns?.['promptTokens'])).toBeLessThan(Number(all?.['promptTokens']));
    expect(byPatterns).toMatchObject({ found: 1, questionTokens: 0 });
    expect(Number(byModel?.['questionTokens'])).toBeGreaterThan(0);
  });
});
