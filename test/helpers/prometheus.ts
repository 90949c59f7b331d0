/** One metric family of a scrape with its samples, in order. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

/** One line with a value. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The metric families of one scrape. */
export interface Scrape {
  readonly families: readonly MetricFamily[];
  /** Sum of the samples with this name and at least these labels; undefined when there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

/** Parses the text format of Prometheus (0.0.4) strictly. @throws Error that names the line. */
export function parseScrape(text: string): Scrape {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families: (MetricFamily & { readonly samples: Sample[] })[] = [];
  const series = new Set<string>();
  let help: readonly [name: string, text: string] | undefined;
  for (const line of text.slice(0, -1).split('\n')) {
    const fail = (why: string): Error => new Error(`${why}: ${line}`);
    if (line === '') continue;
    if (line.startsWith('# HELP ')) {
      const [, name, helpText] = /^# HELP ([a-zA-Z_:][\w:]*) ((?:[^\\]|\\\\|\\n)+)$/.exec(line) ?? [];
      if (name === undefined || helpText === undefined || help) throw fail('no HELP line');
      help = [name, helpText];
    } else if (line.startsWith('#')) {
      const [, name, type] = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/.exec(line) ?? [];
      if (name === undefined || type === undefined || help?.[0] !== name) throw fail('no TYPE line after its HELP');
      if (families.some((family) => family.name === name)) throw fail('a metric family that appears twice');
      families.push({ name, type, help: help[1], samples: [] });
      help = undefined;
    } else {
      const family = families.at(-1);
      const sample = parseSample(line);
      if (!family || help || !namesOf(family).includes(sample.name))
        throw fail('a sample outside of its metric family');
      const key = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`;
      if (series.has(key)) throw fail('a series that appears twice');
      if (family.type === 'counter' && !(sample.value >= 0)) throw fail('a counter below zero');
      series.add(key);
      family.samples.push(sample);
    }
  }
  families.filter(({ type }) => type === 'histogram').forEach(checkHistogram);
  const value: Scrape['value'] = (name, labels = {}) => {
    const matching = families
      .flatMap(({ samples }) => samples)
      .filter((sample) => sample.name === name && hasLabels(sample, labels));
    return matching.length === 0 ? undefined : matching.reduce((sum, sample) => sum + sample.value, 0);
  };
  return { families, value };
}

const hasLabels = ({ labels }: Sample, expected: Readonly<Record<string, string>>): boolean =>
  Object.entries(expected).every(([name, value]) => labels[name] === value);

const namesOf = ({ name, type }: MetricFamily): readonly string[] =>
  type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];

const quoted = String.raw`"(?:[^"\\\n]|\\\\|\\"|\\n)*"`;
const label = String.raw`[a-zA-Z_]\w*=${quoted}`;
const samplePattern = new RegExp(String.raw`^([a-zA-Z_:][\w:]*)(?:\{(${label}(?:,${label})*)\})? (\S+)$`);

function parseSample(line: string): Sample {
  const [, name, labels = '', number = ''] = samplePattern.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  const pairs = [...labels.matchAll(new RegExp(`(\\w+)=(${quoted})`, 'g'))].map(
    ([, key = '', text = '']) => [key, JSON.parse(text) as string] as const,
  );
  if (new Set(pairs.map(([key]) => key)).size < pairs.length) throw new Error(`a label that appears twice: ${line}`);
  if (!/^(?:[+-]Inf|NaN|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.test(number)) throw new Error(`no value: ${line}`);
  return { name, labels: Object.fromEntries(pairs), value: Number(number.replace('Inf', 'Infinity')) };
}

/** Checks that buckets increase up to +Inf, which equals the count, and that there is one sum. */
function checkHistogram({ name, samples }: MetricFamily): void {
  const otherLabels = ({ labels }: Sample): string =>
    JSON.stringify(
      Object.entries(labels)
        .filter(([name]) => name !== 'le')
        .sort(),
    );
  for (const key of new Set(samples.map(otherLabels))) {
    const series = samples.filter((sample) => otherLabels(sample) === key);
    const buckets = series.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => Number((labels['le'] ?? '').replace('Inf', 'Infinity')));
    const counts = buckets.map(({ value }) => value);
    const isIncreasing = (list: readonly number[], strictly: boolean): boolean =>
      list.every(
        (value, index) => index === 0 || value > (list[index - 1] ?? NaN) || (!strictly && value === list[index - 1]),
      );
    const count = series.find((sample) => sample.name === `${name}_count`)?.value;
    const sums = series.filter((sample) => sample.name === `${name}_sum`).length;
    if (
      !isIncreasing(bounds, true) ||
      !isIncreasing(counts, false) ||
      bounds.at(-1) !== Infinity ||
      counts.at(-1) !== count ||
      sums !== 1
    )
      throw new Error(`no histogram: ${name}${key}`);
  }
}
