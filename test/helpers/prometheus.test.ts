import { describe, expect, it } from 'vitest';
import { parseScrape } from './prometheus.ts';

describe('the Prometheus parser of the tests', () => {
  const head = '# HELP a b\n# TYPE a counter\n';
  const histogram = '# HELP h b\n# TYPE h histogram\n';

  it.each([
    ['an empty label set in braces', `${head}a{} 1\n`],
    ['a label without quotes', `${head}a{x=1} 1\n`],
    ['an unknown escape', `${head}a{x="\\t"} 1\n`],
    ['a quote that is not escaped', `${head}a{x="""} 1\n`],
    ['a series that appears twice', `${head}a{x="1",y="2"} 1\na{y="2",x="1"} 1\n`],
    ['a metric family that appears twice', `${head}a 1\n${head}`],
    ['a sample of another metric family', `${head}b 1\n`],
    ['a type without a help', '# TYPE a counter\na 1\n'],
    ['a counter below zero', `${head}a -1\n`],
    ['a value that is no number', `${head}a one\n`],
    ['a last line without an end', `${head}a 1`],
    ['a histogram without +Inf', `${histogram}h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n`],
    ['buckets that shrink', `${histogram}h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n`],
    ['a count that is not the last bucket', `${histogram}h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n`],
  ])('rejects %s', (_, text) => {
    expect(() => parseScrape(text)).toThrow();
  });
});
