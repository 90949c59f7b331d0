import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { whyWrong } from '../../scripts/evals/bfcl/check.mjs';
import { trueCalls } from '../../scripts/evals/roundTrip/trueCalls.mjs';
import { repositoryPath } from '../helpers/server.ts';

const parameters = {
  type: 'dict',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer' },
    limit: { type: 'float' },
    dates: { type: 'array', items: { type: 'string' } },
    filter: { type: 'dict' },
  },
  required: ['city'],
};
const functions = ['forecast', 'history'].map((name) => ({ name, parameters }));
const truth = [
  { forecast: { city: ['Oban', 'Oban, Scotland'], days: [3, ''], limit: [2, ''], dates: [['1 May'], ''] } },
];
const call = (args: Readonly<Record<string, unknown>>, name = 'forecast') => ({ name, arguments: args });

describe('the comparison of the Berkeley leaderboard', () => {
  it.each([
    ['the accepted values', { city: 'Oban', days: 3 }],
    ['another accepted value, with other case and punctuation', { city: 'oban scotland.' }],
    ['an integer for a float', { city: 'Oban', limit: 2 }],
    ['a list of texts', { city: 'Oban', dates: ['1 may'] }],
  ])('takes %s', (_title, args) => {
    expect(whyWrong([call(args)], truth, functions)).toBeUndefined();
  });

  it.each([
    ['no call', [], 'no call'],
    ['two calls', [call({ city: 'Oban' }), call({ city: 'Oban' })], 'number'],
    ['another tool', [call({ city: 'Oban' }, 'history')], 'name'],
    ['a missing parameter', [call({ days: 3 })], 'missing'],
    ['a parameter of no declaration', [call({ city: 'Oban', wind: true })], 'unexpected'],
    ['a parameter that the truth has not', [call({ city: 'Oban', filter: {} })], 'unexpected'],
    ['a value of another type', [call({ city: 'Oban', days: '3' })], 'type'],
    ['a number with a fraction for an integer', [call({ city: 'Oban', days: 2.5 })], 'type'],
    ['another value', [call({ city: 'Skye' })], 'value'],
    ['another list', [call({ city: 'Oban', dates: ['1 May', '2 May'] })], 'value'],
  ])('refuses %s', (_title, calls, why) => {
    expect(whyWrong(calls, truth, functions)).toBe(why);
  });

  it('takes several calls in any order, each once', () => {
    const both = [{ forecast: { city: ['Oban'] } }, { forecast: { city: ['Skye'] } }];
    expect(whyWrong([call({ city: 'Skye' }), call({ city: 'Oban' })], both, functions)).toBeUndefined();
    expect(whyWrong([call({ city: 'Skye' }), call({ city: 'Skye' })], both, functions)).toBe('value');
  });

  it('takes objects with one of the accepted values of each member', () => {
    const objects = [{ forecast: { city: ['Oban'], filter: [{ wind: ['strong', 'gale'], sea: ['', 'calm'] }] } }];
    expect(whyWrong([call({ city: 'Oban', filter: { wind: 'Gale' } })], objects, functions)).toBeUndefined();
    expect(whyWrong([call({ city: 'Oban', filter: { sea: 'calm' } })], objects, functions)).toBe('value');
    expect(whyWrong([call({ city: 'Oban', filter: { wind: 'gale', fog: 1 } })], objects, functions)).toBe('value');
  });

  it('takes no call where none is asked for', () => {
    expect(whyWrong([], [], functions)).toBeUndefined();
    expect(whyWrong([call({ city: 'Oban' })], [], functions)).toBe('call');
  });
});

it('the true calls have the first accepted values, also of members, and leave out what has none', () => {
  const filter = [{ wind: ['strong', 'gale'], sea: ['', 'calm'] }];
  const accepted = { city: ['Oban', 'Skye'], days: ['', 3], limit: [''], filter, at: [[1, 2]], raw: [{ x: 1 }] };
  expect(trueCalls([{ forecast: accepted }, { history: {} }])).toEqual([
    {
      id: 'call00000',
      name: 'forecast',
      arguments: { city: 'Oban', days: 3, filter: { wind: 'strong', sea: 'calm' }, at: [1, 2], raw: { x: 1 } },
    },
    { id: 'call00001', name: 'history', arguments: {} },
  ]);
});

describe('a program for developers', () => {
  const run = (program: string, ...options: readonly string[]) => {
    const path = repositoryPath(`scripts/evals/${program}.mjs`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...options], { encoding: 'utf8' });
    return { status, stdout, stderr: stderr.trimEnd() };
  };

  it('says with --help what it does, and which options it has', () => {
    const { status, stdout } = run('bfcl', '--help');
    expect([status, stdout.startsWith('npm run eval:bfcl')]).toEqual([0, true]);
    expect(stdout).toContain('--min-confidence N');
  });

  it('refuses what it cannot use, and names the option', () => {
    const stderr = '--min-confidence must be a number from 0 to 1, not "1.5"';
    expect(run('bfcl', '--min-confidence', '1.5')).toEqual({ status: 2, stdout: '', stderr });
    expect(run('recall')).toMatchObject({ status: 2, stderr: expect.stringContaining('--embedding NAME') });
  });
});
