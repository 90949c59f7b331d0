import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import {
  parseProcStat,
  readCpuUse,
  type CpuUse,
  FreeCores,
} from '../../../../../src/inference/llama/threads/freeCores.ts';

/** A machine with four cores, on which nothing has run yet. */
function createMachine(): { use: CpuUse | undefined; run: (use: Partial<CpuUse>) => void } {
  const machine: ReturnType<typeof createMachine> = {
    use: { cores: 4, idleMs: 0, ownMs: 0, runningThreads: 1 },
    run({ idleMs = 0, ownMs = 0, ...now }) {
      const { use } = machine;
      machine.use = use && { ...use, ...now, idleMs: use.idleMs + idleMs, ownMs: use.ownMs + ownMs };
    },
  };
  return machine;
}

describe('the number of free cores', () => {
  it('is on average what is idle or used by this process', () => {
    const machine = createMachine();
    const free = new FreeCores(() => machine.use, 0);
    machine.run({ idleMs: 1500, ownMs: 1000 });
    expect(free.mean(1000)).toBe(2.5);
    machine.run({ idleMs: 100, ownMs: 100 });
    expect(free.mean(1200)).toBe(1);
  });

  it('is not measured again before 100 ms have passed', () => {
    const machine = createMachine();
    const free = new FreeCores(() => machine.use, 0);
    machine.run({ idleMs: 90 });
    expect(free.mean(90)).toBeUndefined();
    machine.run({ idleMs: 90 });
    expect(free.mean(180)).toBe(1);
  });

  it.each<{ what: string; idleMs: number; runningThreads: number | undefined; free: number }>([
    { what: 'all cores when only the thread that asks runs', idleMs: 0, runningThreads: 1, free: 4 },
    { what: 'those on which no other thread runs', idleMs: 0, runningThreads: 3, free: 2 },
    { what: 'none when more threads run than there are cores', idleMs: 0, runningThreads: 9, free: 0 },
    { what: 'the mean, when threads run for a moment', idleMs: 3800, runningThreads: 3, free: 3.8 },
    { what: 'the mean, where running threads are unknown', idleMs: 1300, runningThreads: undefined, free: 1.3 },
  ])('is now $what', ({ idleMs, runningThreads, free }) => {
    const machine = createMachine();
    const cores = new FreeCores(() => machine.use, 0);
    machine.run({ idleMs, runningThreads });
    expect(cores.current(1000, 4)).toBe(free);
  });

  it('is looked at again while threads run that may do so for a moment only', () => {
    const readings = [3, 3, 2, 4, 1, 2];
    const looks = (wanted: number): number | undefined => {
      let reading = 0;
      const read = (): CpuUse => ({ cores: 4, idleMs: 0, ownMs: 0, runningThreads: readings[reading++] });
      return new FreeCores(read, 0).current(1000, wanted);
    };
    // The first reading is that of the constructor.
    expect([2, 2.6, 3.6, 5].map(looks)).toEqual([2, 3, 4, 4]);
  });

  it('is unknown where the use of the cores is', () => {
    const machine = createMachine();
    machine.use = undefined;
    const free = new FreeCores(() => machine.use, 0);
    expect([free.mean(1000), free.current(2000, 4)]).toEqual([undefined, undefined]);
  });

  it('is known again after the use of the cores was unknown', () => {
    const machine = createMachine();
    const { use } = machine;
    const free = new FreeCores(() => machine.use, 0);
    machine.use = undefined;
    expect(free.mean(1000)).toBeUndefined();
    machine.use = use;
    expect(free.mean(2000)).toBeUndefined();
    machine.run({ idleMs: 2000 });
    expect(free.mean(3000)).toBe(2);
  });
});

describe('the use of the cores', () => {
  const procStat = [
    'cpu  2507891 613498 350077 1506443 5045 0 3466 2255 0 0',
    'cpu0 1253945 306749 175038 753221 2522 0 1733 1127 0 0',
    'cpu1 1253946 306749 175039 753222 2523 0 1733 1128 0 0',
    'intr 114930548 113199788 3 0 5',
    'ctxt 1990473',
    'procs_running 3',
    'procs_blocked 0',
    '',
  ].join('\n');

  it('is read off /proc/stat of Linux', () => {
    expect(parseProcStat(procStat)).toEqual({ cores: 2, idleMs: 15_114_880, runningThreads: 3 });
  });

  it.each(['', 'cpu  1 2 3\nprocs_running 1\n', procStat.replace('procs_running', 'running')])(
    'is unknown when its lines are not the expected ones: %j',
    (text) => expect(parseProcStat(text)).toBeUndefined(),
  );

  it('is that of this machine', () => {
    const [before, after] = [readCpuUse(), readCpuUse()];
    // Undefined in a container that has a part of the cores.
    if (!before || !after) return;
    expect(before.cores).toBe(availableParallelism());
    expect(before.ownMs).toBeGreaterThan(0);
    expect(after.idleMs).toBeGreaterThan(0);
    if (process.platform === 'linux') expect(before.runningThreads).toBeGreaterThan(0);
  });
});
