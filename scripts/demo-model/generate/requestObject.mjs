// What a request is about, as the subject of a sentence about it: "put the ladder behind the barn" is about "the ladder".
const determiners = `the my our your his her their this that these those some a an`.split(' ');
const places =
  `in on at behind under over by to into onto near beside against above below from inside outside around`.split(' ');
const ends = new Set([
  ...`for with and or so but please is are was has have had looks look needs need should would could will can do does up down off out
  away back again now then until till before after when while as if of than not it me us him them who which`.split(
    /\s+/,
  ),
  ...places,
]);
const opens = new RegExp(
  `(?:^|\\s)(${determiners.join('|')}|(?!(?:there|it|that|let|what|who|how|here|he|she)')[a-z]+'s) ([^.,!?;:()"]+)`,
  'i',
);

/**
 * The object of a request, and where it should be (`place`: "behind the barn"; undefined if the request does not say it); undefined
 * if the request names none.
 * @param {string} text
 */
export function objectOf(text) {
  const [, determiner, rest] = opens.exec(text) ?? [];
  if (determiner === undefined) return undefined;
  const words = rest.trim().split(/\s+/);
  const end = words.findIndex((word) => ends.has(word.toLowerCase()));
  const noun = words.slice(0, end < 0 ? 4 : Math.min(end, 4));
  if (noun.length === 0) return undefined;
  const known = /^(?:some|an?)$/i.test(determiner) ? 'the' : determiner.toLowerCase();
  const place = words.slice(noun.length);
  return {
    subject: `${known} ${noun.join(' ')}`,
    isPlural: /[^s]s$/.test(noun.at(-1)),
    ...(places.includes(place[0]) && place.length > 1 && place.length < 6 && { place: place.join(' ') }),
  };
}
