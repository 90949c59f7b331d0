// Ways to list several values or parts of a request.

const lasts = [
  ' and ',
  ' and ',
  ' and ',
  ' and ',
  ', and ',
  ' as well as ',
  ' plus ',
  ' & ',
  ', then ',
  ' and then ',
  ' and also ',
];
// Words before a value that people repeat before the next one.
const repeatable =
  /(?:^|\s)((?:the|my|our|your|a|an|some|to|in|for|at|on|from|with|of|into|about)(?: the| my| our)? )$/i;

/** Parts in a row: "one, two and three". */
export function joinParts(said, rng) {
  if (rng.chance(0.15)) return said.join(rng.pick([', ', ', ', '; ']));
  return `${said.slice(0, -1).join(', ')}${rng.pick(lasts)}${said.at(-1)}`;
}

/** Values in a row after the text before them, of which each may repeat the last words: "in Paris and in Rome". */
export function joinValues(said, before, rng) {
  const words = repeatable.exec(before)?.[1];
  if (words === undefined && said.length === 2 && rng.chance(0.12)) return `both ${said[0]} and ${said[1]}`;
  const again = rng.chance(0.35) ? (words ?? 'the ') : '';
  return joinParts([said[0], ...said.slice(1).map((value) => again + value)], rng);
}
