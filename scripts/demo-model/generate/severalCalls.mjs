// Messages that need two or three calls: several requests in a row, or one request with several values.
import { isCommand, withPunctuation, withStyle } from './styleVariation.mjs';

// Between requests: `. ` begins a new sentence, and ends the one before it.
const joints = (
  ' and | and | and | and |, and |, then | then | and then |, and then | and also |, and also |, also |, plus |, after that |' +
  ', and after that |; |, |. |. |. Also, |. Also |. Then |. And |. After that, |. Next, |. Oh, and |, while you are at it, |! | & '
)
  .split('|')
  .filter(Boolean);
const commandJoints =
  ', please |. Please |. And please |, and please |, and could you | and can you |. Could you also |, but first '.split(
    '|',
  );

// Before the requests; `{count}` is how many there are.
const openings = (
  '{count} things: |{count} things, please: |I need {count} things: |please do both: |first, |first |do this: |' +
  '{count} requests: |I want {count} things done: |would you do {count} things for me: '
).split('|');

const spokenCount = { 2: ['two', 'two', '2', 'a couple of'], 3: ['three', 'three', '3'] };

/**
 * Creates `severalCalls(tools, ways)`: a text and its calls, or undefined if the random choice is not possible. The ways are
 * those of a mix (lessonMix.mjs); `asked(tool, calls)` and `inTurn(tool, calls)` create a request (see requests.mjs and
 * repeatedCalls.mjs).
 */
export function severalCallsFrom({ asked, inTurn, rng }) {
  return function severalCalls(tools, ways) {
    const count = rng.chance(0.22) ? 3 : 2;
    const way = rng.pick(ways);
    const shared = way === 'list' || way === 'turn' ? oneRequest(tools, { way, count }) : undefined;
    if (shared) return { ...shared, text: withStyle(shared, rng), isOneRequest: true };
    const apart = way === 'apart' ? rng.shuffled(tools) : [];
    const parts = Array.from({ length: count }, (_, at) => briefly(apart[at] ?? rng.pick(tools)));
    if (parts.includes(undefined)) return undefined;
    const calls = parts.flatMap((one) => one.calls);
    if (new Set(calls.map((call) => JSON.stringify(call))).size < count) return undefined;
    return { calls, text: inARow(parts), isOneRequest: false };
  };

  // Many tools have no request of this way.
  function oneRequest(tools, { way, count }) {
    for (const tool of rng.shuffled(tools)) {
      const one = (way === 'list' ? asked : inTurn)(tool, count);
      if (one) return one;
    }
    return undefined;
  }

  // People who want several things say each of them in a few words, mostly.
  function briefly(tool) {
    let one = asked(tool);
    for (let tries = 0; tries < 6 && one && !isBrief(one.text) && rng.chance(0.9); tries++) one = asked(tool);
    return one;
  }

  function jointBefore({ text, opensWithValue }) {
    return rng.pick(!opensWithValue && isCommand(text) && rng.chance(0.15) ? commandJoints : joints);
  }

  function inARow([first, ...rest]) {
    // A list of three often has one "and", before the last.
    const asList = rest.length > 1 && rng.chance(0.6);
    const text = rest.reduce((whole, part, index) => {
      const { text: next, opensWithValue: opens } = part;
      const between = asList ? (index + 1 < rest.length ? ', ' : rng.pick([' and ', ', and '])) : jointBefore(part);
      if (!between.startsWith('. ')) return whole.replace(/[.!?]$/, '') + between + next;
      const start = between === '. ' ? withPunctuation(next, { rng, opens }).replace(/[.!?]$/, '') : next;
      return whole.replace(/[.!?]$/, '') + (/[!?]$/.test(whole) ? between.replace('.', whole.at(-1)) : between) + start;
    }, first.text);
    if (rng.chance(0.9)) return withStyle({ text, opensWithValue: first.opensWithValue }, rng);
    const opening = rng.pick(openings).replace('{count}', rng.pick(spokenCount[rest.length + 1]));
    return withPunctuation(opening + text, { rng, question: false });
  }
}

const isBrief = (text) => text.split(' ').length <= 9 && !/[.!?;:]/.test(text);
