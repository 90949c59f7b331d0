// Words that no model says of itself, none of them a part of another.
const heads = [
  'Zul',
  'Quor',
  'Vex',
  'Brim',
  'Thask',
  'Jurl',
  'Wymp',
  'Goff',
  'Dreck',
  'Plov',
  'Snarv',
  'Kebb',
  'Frub',
  'Hoxt',
  'Mirg',
];
const tails = [
  'vik',
  'bam',
  'dolt',
  'ruzz',
  'plee',
  'gorn',
  'tash',
  'mup',
  'fenk',
  'zob',
  'lurd',
  'wix',
  'jass',
  'krom',
  'hep',
];

/** So many secrets, at most 225. */
export const secretsFor = (count) =>
  Array.from({ length: count }, (_, index) => {
    const [head, turn] = [index % heads.length, Math.floor(index / heads.length)];
    return `${heads[head]}${tails[(head + turn) % tails.length]}`;
  });
