/** Whether all codecs, cases and sizes are tested: in `npm run test:all`, and always in slow files (`vitest.config.ts`). */
export const isWhole = process.env['TURNGRAPH_TEST_DEPTH'] === 'whole';

/** A number of random cases, or a size: a twentieth of it in `npm test`. */
export const scaled = (count: number): number => (isWhole ? count : Math.ceil(count / 20));

/** All of the values in `npm run test:all`, the first in `npm test`. */
export const firstOrAll = <T>(values: readonly T[]): readonly T[] => (isWhole ? values : values.slice(0, 1));

/** The codecs that tests of the client run with: JSON in `npm test`, both in `npm run test:all`. */
export const codecs = firstOrAll(['json', 'proto'] as const);
