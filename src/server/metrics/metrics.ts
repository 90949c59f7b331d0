import { performance } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { version } from '../../base/packageFiles.ts';
import type { LabelsOf, MetricDefinition, MetricName, NameOf } from './definitions.ts';
import { metricDefinitions } from './definitions.ts';
import type { TurnOutcome } from '../../graph/agent/turnOptions.ts';

/** Sets a gauge, or a counter of which the whole reading is known, to a value. */
export type SetMetric = <K extends NameOf<'gauge' | 'counter'>>(name: K, labels: LabelsOf<K>, value: number) => void;

/** Prometheus metrics of one server (prom-client): those of `metricDefinitions`, in a registry of their own. */
export class Metrics {
  readonly contentType: string = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #registry = new Registry();
  readonly #onScrape: ((set: SetMetric) => void)[] = [];
  // Those that scrape callbacks have set: they are reset before each scrape.
  readonly #scraped = new Set<MetricName>();

  constructor() {
    for (const [name, definition] of Object.entries(metricDefinitions) as [MetricName, MetricDefinition][])
      this.#registry.registerMetric(createMeter(name, definition));
  }

  /** Increases a counter, or changes a gauge by a positive or negative value. */
  add<K extends NameOf<'counter' | 'gauge'>>(name: K, labels: LabelsOf<K>, value = 1): void {
    const meter = this.#registry.getSingleMetric(name);
    if (meter instanceof Counter || meter instanceof Gauge) meter.inc(labels, value);
  }

  observe<K extends NameOf<'histogram'>>(name: K, labels: LabelsOf<K>, value: number): void {
    const meter = this.#registry.getSingleMetric(name);
    if (meter instanceof Histogram) meter.observe(labels, value);
  }

  /** Registers a callback that sets metrics at each scrape. One with labels that is not set again disappears. */
  onScrape(callback: (set: SetMetric) => void): void {
    this.#onScrape.push(callback);
  }

  /** All metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    const exportProcess = await readProcess();
    // No await from here to the end of the callbacks: two scrapes at the same time would reset each other's metrics.
    for (const name of this.#scraped) this.#registry.getSingleMetric(name)?.reset();
    const set: SetMetric = (name, labels, value) => {
      this.#scraped.add(name);
      const meter = this.#registry.getSingleMetric(name);
      if (meter instanceof Gauge) meter.set(labels, value);
      else if (meter instanceof Counter) meter.inc(labels, value);
    };
    exportProcess(set);
    for (const callback of this.#onScrape) callback(set);
    return this.#registry.metrics();
  }
}

function createMeter(name: MetricName, { type, help, labels, buckets = [] }: MetricDefinition): Metric {
  const options = { name, help, labelNames: Object.keys(labels), registers: [] };
  if (type === 'gauge') return new Gauge(options);
  if (type === 'histogram') return new Histogram({ ...options, buckets: [...buckets] });
  const counter = new Counter(options);
  // Counters start at 0: Prometheus `rate()` sees no increase if the first sample is 1.
  for (const labelSet of labelCombinations(labels)) counter.inc(labelSet, 0);
  return counter;
}

/** All possible label sets; none when the values of a label are not known in advance. */
function labelCombinations(labels: MetricDefinition['labels']): readonly Readonly<Record<string, string>>[] {
  let sets: readonly Readonly<Record<string, string>>[] = [{}];
  for (const [name, values] of Object.entries(labels)) {
    if (typeof values === 'string') return [];
    sets = sets.flatMap((set) => values.map((value) => ({ ...set, [name]: value })));
  }
  return sets;
}

/** Counts an error that is reported to a client, by where it occurred. */
export function countError(
  metrics: Metrics,
  at: LabelsOf<'turngraph_errors_total'>['at'],
  { code, name }: { readonly code: number; readonly name: string },
): void {
  metrics.add('turngraph_errors_total', { at, code: String(code), name });
}

/** Measures the process (memory, CPU, event loop), without a timer. @returns a function that exports the figures. */
export async function readProcess(): Promise<(set: SetMetric) => void> {
  const scheduledAt = performance.now();
  await new Promise<void>((resolve) => setImmediate(resolve));
  const lagMs = performance.now() - scheduledAt;
  return (set) => {
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
    const resources = process.getActiveResourcesInfo();
    for (const type of new Set(resources))
      set('turngraph_process_resources', { type }, resources.filter((each) => each === type).length);
    for (const mode of ['user', 'system'] as const)
      set('turngraph_process_cpu_seconds_total', { mode }, cpu[mode] / 1e6);
    for (const state of ['active', 'idle'] as const)
      set('turngraph_process_event_loop_seconds_total', { state }, eventLoop[state] / 1000);
  };
}

/** Records the metrics of a turn that has ended: status, times, warnings, tool calls, insights, error. */
export const turnRecorder =
  (metrics: Metrics) =>
  ({ summary, calls, insights }: TurnOutcome): void => {
    const { status, error, durationMs, timeToFirstTokenMs, warnings } = summary;
    metrics.add('turngraph_turns_running', {}, -1);
    metrics.add('turngraph_turns_total', { status });
    metrics.observe('turngraph_turn_duration_seconds', { status }, durationMs / 1000);
    if (timeToFirstTokenMs > 0)
      metrics.observe('turngraph_turn_time_to_first_token_seconds', {}, timeToFirstTokenMs / 1000);
    metrics.add('turngraph_turn_warnings_total', {}, warnings.length);
    metrics.add('turngraph_tool_insights_total', {}, insights.filter(({ unread }) => unread === undefined).length);
    for (const { known, repaired, issues } of calls) {
      metrics.add('turngraph_tool_calls_total', { known: `${known}`, repaired: `${repaired}` });
      for (const { code } of issues) metrics.add('turngraph_tool_call_issues_total', { code });
    }
    if (error && status === 'ERROR') countError(metrics, 'turn', error);
  };
