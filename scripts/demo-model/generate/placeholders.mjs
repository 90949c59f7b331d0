// Fills the placeholders of hand-written texts with random values.

const smallNumbers = [5, 10, 20, 40, 100, 100, 1000, 10_000];

/**
 * Creates a function that fills `{pool}` with a value of that pool (values.json), `{n}` with a number up to 99, and `{number}` with
 * any number.
 */
export function fillerFrom({ draw, rng }) {
  return (text) =>
    text.replaceAll(/\{(\w+)\}/g, (_, pool) => {
      if (pool === 'n') return String(1 + rng.below(99));
      if (pool === 'number') return String(rng.below(rng.pick(smallNumbers)));
      return draw({ kind: 'text', values: pool }).said;
    });
}
