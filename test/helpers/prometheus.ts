/** One family of a scrape: its help, its type and its samples in their order. */
export interface Family {
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

/** What a scrape said. */
export interface Scrape {
  readonly families: readonly Family[];
  /** The sum of the samples of a name whose labels are (at least) these; undefined when there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

/** Reads the text format of Prometheus (0.0.4) as strictly as it is written down. @throws Error that names the line. */
export function readScrape(text: string): Scrape {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families: (Family & { readonly samples: Sample[] })[] = [];
  const series = new Set<string>();
  let help: readonly [name: string, text: string] | undefined;
  for (const line of text.slice(0, -1).split('\n')) {
    const fail = (why: string): Error => new Error(`${why}: ${line}`);
    if (line === '') continue;
    if (line.startsWith('# HELP ')) {
      const [, name, said] = /^# HELP ([a-zA-Z_:][\w:]*) ((?:[^\\]|\\\\|\\n)+)$/.exec(line) ?? [];
      if (name === undefined || said === undefined || help) throw fail('no HELP line');
      help = [name, said];
    } else if (line.startsWith('#')) {
      const [, name, type] = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/.exec(line) ?? [];
      if (name === undefined || type === undefined || help?.[0] !== name) throw fail('no TYPE line after its HELP');
      if (families.some((family) => family.name === name)) throw fail('a family that stands twice');
      families.push({ name, type, help: help[1], samples: [] });
      help = undefined;
    } else {
      const family = families.at(-1);
      const sample = sampleOf(line);
      if (!family || help || !namesOf(family).includes(sample.name)) throw fail('a sample outside of its family');
      const key = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`;
      if (series.has(key)) throw fail('a series that stands twice');
      if (family.type === 'counter' && !(sample.value >= 0)) throw fail('a counter below zero');
      series.add(key);
      family.samples.push(sample);
    }
  }
  families.filter(({ type }) => type === 'histogram').forEach(checkHistogram);
  const value: Scrape['value'] = (name, labels = {}) => {
    const found = families
      .flatMap(({ samples }) => samples)
      .filter((sample) => sample.name === name && has(sample, labels));
    return found.length === 0 ? undefined : found.reduce((sum, sample) => sum + sample.value, 0);
  };
  return { families, value };
}

const has = ({ labels }: Sample, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);

const namesOf = ({ name, type }: Family): readonly string[] =>
  type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];

const quoted = String.raw`"(?:[^"\\\n]|\\\\|\\"|\\n)*"`;
const label = String.raw`[a-zA-Z_]\w*=${quoted}`;
const samplePattern = new RegExp(String.raw`^([a-zA-Z_:][\w:]*)(?:\{(${label}(?:,${label})*)\})? (\S+)$`);

function sampleOf(line: string): Sample {
  const [, name, labels = '', written = ''] = samplePattern.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  const pairs = [...labels.matchAll(new RegExp(`(\\w+)=(${quoted})`, 'g'))].map(
    ([, key = '', text = '']) => [key, JSON.parse(text) as string] as const,
  );
  if (new Set(pairs.map(([key]) => key)).size < pairs.length) throw new Error(`a label that stands twice: ${line}`);
  if (!/^(?:[+-]Inf|NaN|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.test(written)) throw new Error(`no value: ${line}`);
  return { name, labels: Object.fromEntries(pairs), value: Number(written.replace('Inf', 'Infinity')) };
}

/** Buckets grow and end with +Inf, which is the count; each has its sum. */
function checkHistogram({ name, samples }: Family): void {
  const rest = ({ labels: { le: _, ...others } }: Sample): string => JSON.stringify(Object.entries(others).sort());
  for (const key of new Set(samples.map(rest))) {
    const own = samples.filter((sample) => rest(sample) === key);
    const buckets = own.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => Number((labels['le'] ?? '').replace('Inf', 'Infinity')));
    const counts = buckets.map(({ value }) => value);
    const rises = (list: readonly number[], strictly: boolean): boolean =>
      list.every((one, at) => at === 0 || one > (list[at - 1] ?? NaN) || (!strictly && one === list[at - 1]));
    const count = own.find((sample) => sample.name === `${name}_count`)?.value;
    const sums = own.filter((sample) => sample.name === `${name}_sum`).length;
    if (
      !rises(bounds, true) ||
      !rises(counts, false) ||
      bounds.at(-1) !== Infinity ||
      counts.at(-1) !== count ||
      sums !== 1
    )
      throw new Error(`no histogram: ${name}${key}`);
  }
}
