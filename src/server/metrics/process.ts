import { performance } from 'node:perf_hooks';
import { version } from '../../base/version.ts';
import { CounterDelta } from './counterDelta.ts';
import type { LabelsOf, NameOf } from './definitions.ts';

type SetMetric<Type extends 'counter' | 'gauge'> = <K extends NameOf<Type>>(
  name: K,
  labels: LabelsOf<K>,
  value: number,
) => void;

/** Metrics of the process (memory, CPU, event loop), measured at each scrape: there is no timer. */
export class ProcessMetrics {
  readonly #user = new CounterDelta();
  readonly #system = new CounterDelta();
  readonly #active = new CounterDelta();
  readonly #idle = new CounterDelta();

  /** Measures, and returns a function that exports the measurements. */
  async read(): Promise<(set: SetMetric<'gauge'>, add: SetMetric<'counter'>) => void> {
    const scheduledAt = performance.now();
    await new Promise<void>((resolve) => setImmediate(resolve));
    const lagMs = performance.now() - scheduledAt;
    return (set, add) => {
      const memory = process.memoryUsage();
      const cpu = process.cpuUsage();
      const eventLoop = performance.eventLoopUtilization();
      set('turngraph_info', { version, node: process.versions.node }, 1);
      set('turngraph_process_start_time_seconds', {}, performance.timeOrigin / 1000);
      set('turngraph_process_resident_memory_bytes', {}, memory.rss);
      set('turngraph_process_heap_used_bytes', {}, memory.heapUsed);
      set('turngraph_process_heap_size_bytes', {}, memory.heapTotal);
      set('turngraph_process_external_memory_bytes', {}, memory.external);
      set('turngraph_process_event_loop_lag_seconds', {}, lagMs / 1000);
      for (const [type, count] of countByName(process.getActiveResourcesInfo())) {
        set('turngraph_process_resources', { type }, count);
      }
      add('turngraph_process_cpu_seconds_total', { mode: 'user' }, this.#user.since(cpu.user / 1e6));
      add('turngraph_process_cpu_seconds_total', { mode: 'system' }, this.#system.since(cpu.system / 1e6));
      add(
        'turngraph_process_event_loop_seconds_total',
        { state: 'active' },
        this.#active.since(eventLoop.active / 1000),
      );
      add('turngraph_process_event_loop_seconds_total', { state: 'idle' }, this.#idle.since(eventLoop.idle / 1000));
    };
  }
}

function countByName(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
