import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ProcessMetrics } from './process.ts';
import {
  metricDefinitions,
  type LabelsOf,
  type MetricName,
  type NameOf,
  type MetricDefinition,
} from './definitions.ts';

/** Sets a gauge to a value. */
export type SetGauge = <K extends NameOf<'gauge'>>(name: K, labels: LabelsOf<K>, value: number) => void;

type Meter = Counter | Gauge | Histogram;

/** Prometheus metrics of one server (prom-client): those of `metricDefinitions`, in a registry of their own. */
export class Metrics {
  readonly contentType: string = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #registry = new Registry();
  readonly #meters = new Map<MetricName, Meter>();
  readonly #onScrape: ((set: SetGauge) => void)[] = [];
  // Gauges that scrape callbacks have set: they are reset before each scrape.
  readonly #scrapedGauges = new Set<MetricName>();
  readonly #process = new ProcessMetrics();

  constructor() {
    for (const [name, definition] of Object.entries(metricDefinitions) as [MetricName, MetricDefinition][]) {
      this.#meters.set(name, this.#createMeter(name, definition));
    }
  }

  /** Increases a counter, or changes a gauge by a positive or negative value. */
  add<K extends NameOf<'counter' | 'gauge'>>(name: K, labels: LabelsOf<K>, value = 1): void {
    const meter = this.#meters.get(name);
    if (meter && !(meter instanceof Histogram)) meter.inc(labels, value);
  }

  /** Adds a measurement to a histogram. */
  observe<K extends NameOf<'histogram'>>(name: K, labels: LabelsOf<K>, value: number): void {
    const meter = this.#meters.get(name);
    if (meter instanceof Histogram) meter.observe(labels, value);
  }

  /** Registers a callback that sets gauges at each scrape. A gauge with labels that is not set again disappears. */
  onScrape(callback: (set: SetGauge) => void): void {
    this.#onScrape.push(callback);
  }

  /** All metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    const exportProcess = await this.#process.read();
    // No await from here to the end of the callbacks: two scrapes at the same time would reset each other's gauges.
    for (const name of this.#scrapedGauges) this.#meters.get(name)?.reset();
    const set: SetGauge = (name, labels, value) => {
      this.#scrapedGauges.add(name);
      const meter = this.#meters.get(name);
      if (meter instanceof Gauge) meter.set(labels, value);
    };
    exportProcess(set, (name, labels, value) => this.add(name, labels, value));
    for (const callback of this.#onScrape) callback(set);
    return this.#registry.metrics();
  }

  #createMeter(name: MetricName, { type, help, labels, buckets = [] }: MetricDefinition): Meter {
    const options = { name, help, labelNames: Object.keys(labels), registers: [this.#registry] };
    if (type === 'gauge') return new Gauge(options);
    if (type === 'histogram') return new Histogram({ ...options, buckets: [...buckets] });
    const counter = new Counter(options);
    // Counters start at 0: Prometheus `rate()` sees no increase if the first sample is 1.
    for (const labelSet of labelCombinations(labels)) counter.inc(labelSet, 0);
    return counter;
  }
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
