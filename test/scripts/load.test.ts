import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readProfile } from '../../scripts/load/profile.mjs';
import { formatLoad } from '../../scripts/load/format.mjs';
import { repositoryPath } from '../helpers/server.ts';

const run = promisify(execFile);

interface LoadFigures {
  readonly turns: number;
  readonly turnsPerMinute: number;
  readonly serverCpuMsPerTurn: number;
  readonly memory: { readonly end: Readonly<Record<'residentBytes' | 'heapBytes' | 'replayBytes', number>> };
}

interface LoadReport {
  readonly idle: object;
  readonly open: object;
  readonly openSeconds: number;
  readonly profile: undefined;
  readonly short: LoadFigures;
  readonly long: LoadFigures;
  readonly failed: readonly string[];
}

describe('the load measurement', () => {
  it.concurrent.each(['proto', 'json'])('runs turns in all sessions over %s, and none fails', async (codec) => {
    const flags = ['--sessions', '4', '--seconds', '1', '--tokens', '5', '--goal', '1', '--codec', codec, '--json'];
    const { stdout } = await run(process.execPath, [repositoryPath('scripts/load.mjs'), ...flags]);
    const report = JSON.parse(stdout) as LoadReport;
    expect(report.failed).toEqual([]);
    for (const { turns, serverCpuMsPerTurn, memory } of [report.short, report.long]) {
      expect(turns).toBeGreaterThan(4);
      expect(serverCpuMsPerTurn).toBeGreaterThan(0);
      expect(memory.end.residentBytes).toBeGreaterThan(memory.end.heapBytes);
      expect(memory.end.replayBytes).toBeGreaterThan(0);
    }
    const lines = formatLoad(report, { sessions: 4, tokens: 5, goal: report.short.turnsPerMinute + 1 });
    expect(lines.join('\n')).toMatch(/^sessions +4 opened in .*\nmemory .*\nshort turns .*\ngoal +missed: /s);
  });

  it('refuses a codec that is none', async () => {
    const refused = run(process.execPath, [repositoryPath('scripts/load.mjs'), '--codec', 'xml']);
    await expect(refused).rejects.toMatchObject({ code: 2, stderr: '--codec must be proto or json, not "xml"\n' });
  });

  it('sums the self time of each function of the profile of the server, without the idle time', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    try {
      const node = (id: number, functionName: string, url = '') => ({
        id,
        callFrame: { functionName, url, lineNumber: 4 },
      });
      const nodes = [node(1, '(idle)'), node(2, 'send', 'file:///x/dist/a.js'), node(3, 'writev')];
      const profile = { nodes, samples: [1, 2, 3, 2], timeDeltas: [900, 20, 70, 10] };
      await writeFile(join(folder, 'CPU.20261124.044700.77.0.001.cpuprofile'), JSON.stringify(profile));
      expect(await readProfile(folder, 77)).toEqual([
        { place: 'writev', share: 0.7 },
        { place: 'send dist/a.js:5', share: 0.3 },
      ]);
      expect(await readProfile(folder, 7)).toBeUndefined();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
