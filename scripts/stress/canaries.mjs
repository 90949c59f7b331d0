// Canaries: invented words that a model does not write of its own accord, none of them part of another.
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

/** Creates `count` different canaries, at most 225. */
export const createCanaries = (count) =>
  Array.from({ length: count }, (_, index) => {
    const [head, offset] = [index % heads.length, Math.floor(index / heads.length)];
    return `${heads[head]}${tails[(head + offset) % tails.length]}`;
  });
