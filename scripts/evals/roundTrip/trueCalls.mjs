/** The calls of a truth (see `../bfcl/check.mjs`): each parameter has the first of the accepted values; one that is only "" is left out. */
export const trueCalls = (truth) =>
  withIds(truth.flatMap(Object.entries).map(([name, accepted]) => ({ name, arguments: firstValues(accepted) })));

/** Calls with ids of nine characters: a template of Mistral accepts no others. */
export const withIds = (calls) =>
  calls.map((call, index) => ({ id: `call${String(index).padStart(5, '0')}`, ...call }));

function firstValues(accepted) {
  const given = Object.entries(accepted).map(([key, values]) => [key, values.find((value) => value !== '')]);
  return Object.fromEntries(
    given.filter(([, value]) => value !== undefined).map(([key, value]) => [key, plain(value)]),
  );
}

function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  // In most objects of the truth, each member has a list of accepted values.
  return Object.values(value).every(Array.isArray) ? firstValues(value) : value;
}
