import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../../src/server/metrics/metrics.ts';
import { metricDefinitions } from '../../../../src/server/metrics/definitions.ts';
import { parseScrape } from '../../../helpers/prometheus.ts';

describe('the metric definitions', () => {
  const shapes = Object.entries(metricDefinitions);

  it('are those of a scrape, with names, types and help', async () => {
    const { families } = parseScrape(await new Metrics().text());
    expect(families.map(({ name, type, help }) => ({ name, type, help }))).toEqual(
      shapes.map(([name, { type, help }]) => ({ name, type, help })),
    );
  });

  it('have names by the rules of Prometheus: only counters end in _total, and units are base units', () => {
    for (const [name, { type }] of shapes) {
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      expect(name).toMatch(/^turngraph(?:_[a-z]+)+$/);
      expect(name).not.toMatch(/_(?:ms|milliseconds|minutes|kb|mb|percent)(?:_|$)/);
    }
  });
});
