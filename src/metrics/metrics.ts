import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ProcessMetrics } from './process.ts';
import {
  metricDefinitions,
  type LabelsOf,
  type MetricName,
  type NameOf,
  type MetricDefinition,
} from './definitions.ts';

/** Sets a gauge to what has been read. */
export type SetGauge = <K extends NameOf<'gauge'>>(name: K, labels: LabelsOf<K>, value: number) => void;

type Meter = Counter | Gauge | Histogram;

/** What one server counts and measures, as Prometheus reads it. Nothing of it is shared with another server. */
export class Metrics {
  readonly contentType: string = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #registry = new Registry();
  readonly #meters = new Map<MetricName, Meter>();
  readonly #onScrape: ((set: SetGauge) => void)[] = [];
  // Gauges that readers have set: what is not read again is gone.
  readonly #scrapedGauges = new Set<MetricName>();
  readonly #process = new ProcessMetrics();

  constructor() {
    for (const [name, shape] of Object.entries(metricDefinitions) as [MetricName, MetricDefinition][]) {
      this.#meters.set(name, this.#meterOf(name, shape));
    }
  }

  /** Counts something that has happened, or what is there more (or less) than before. */
  add<K extends NameOf<'counter' | 'gauge'>>(name: K, labels: LabelsOf<K>, value = 1): void {
    const meter = this.#meters.get(name);
    if (meter && !(meter instanceof Histogram)) meter.inc(labels, value);
  }

  /** Puts a measurement into a histogram. */
  observe<K extends NameOf<'histogram'>>(name: K, labels: LabelsOf<K>, value: number): void {
    const meter = this.#meters.get(name);
    if (meter instanceof Histogram) meter.observe(labels, value);
  }

  /** Has gauges read whenever somebody asks; a gauge with labels that is not set again disappears. */
  onScrape(read: (set: SetGauge) => void): void {
    this.#onScrape.push(read);
  }

  /** Everything, in the text format of Prometheus. */
  async text(): Promise<string> {
    const read = await this.#process.read();
    // From here to the end of the readers nothing else runs, so that two who ask at once get whole answers.
    for (const name of this.#scrapedGauges) this.#meters.get(name)?.reset();
    const set: SetGauge = (name, labels, value) => {
      this.#scrapedGauges.add(name);
      const meter = this.#meters.get(name);
      if (meter instanceof Gauge) meter.set(labels, value);
    };
    read(set, (name, labels, value) => this.add(name, labels, value));
    for (const reader of this.#onScrape) reader(set);
    return this.#registry.metrics();
  }

  #meterOf(name: MetricName, { type, help, labels, buckets = [] }: MetricDefinition): Meter {
    const how = { name, help, labelNames: Object.keys(labels), registers: [this.#registry] };
    if (type === 'gauge') return new Gauge(how);
    if (type === 'histogram') return new Histogram({ ...how, buckets: [...buckets] });
    const counter = new Counter(how);
    // A count that appears at 1 has never grown, for who watches growth.
    for (const known of combinations(labels)) counter.inc(known, 0);
    return counter;
  }
}

/** All label sets that there can be; none where a label's values are not known beforehand. */
function combinations(labels: MetricDefinition['labels']): readonly Readonly<Record<string, string>>[] {
  let sets: readonly Readonly<Record<string, string>>[] = [{}];
  for (const [name, values] of Object.entries(labels)) {
    if (typeof values === 'string') return [];
    sets = sets.flatMap((set) => values.map((value) => ({ ...set, [name]: value })));
  }
  return sets;
}
