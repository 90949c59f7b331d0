// Generates messages to a list of tools: requests for one call or several, and messages that need no call.
import { withStyle, withPunctuation } from './styleVariation.mjs';
import { asideAnswer, noToolAnswer } from './smallTalk.mjs';
import { callText } from './prompts.mjs';
import { severalCallsFrom } from './severalCalls.mjs';

/**
 * Creates `message`, which generates messages to tools, and `remark`, which generates remarks that need no call.
 * `asked(tool, calls)` and `inTurn(tool, calls)` create a request (see requests.mjs and repeatedCalls.mjs),
 * `foreignTo(tools, { own, strangers })` one that none of the tools fits; `talk` and `asides` are intents; `remarks` need no call
 * and `refusals` cancel something, both texts with `{pools}` in them. A mix (lessonMix.mjs) sets the shares.
 */
export function messagesFrom({ asked, inTurn, foreignTo, talk, asides, remarks, refusals, draw, rng }) {
  const filled = (text) =>
    text.replaceAll(/\{(\w+)\}/g, (_, pool) =>
      pool === 'n' ? String(1 + rng.below(99)) : draw({ kind: 'text', values: pool }).said,
    );
  const remark = (list = remarks) => filled(rng.pick(list));
  const severalCalls = severalCallsFrom({ asked, inTurn, rng });
  const byPool = new Map();
  for (const text of remarks)
    for (const [, pool] of text.matchAll(/\{(\w+)\}/g)) byPool.set(pool, [...(byPool.get(pool) ?? []), text]);

  return { message, remark };

  /** A message and the expected calls; undefined if the random choice is not possible with these tools. */
  function message(tools, format, index, { quiet, several, own, ways, strangers, mentions }) {
    const expectsCall = ({ text, calls }) => ({ text, calls, answer: callText(format, calls) });
    if (rng.chance(quiet)) return withoutCall(tools, { own, strangers, mentions });
    const many = rng.chance(several) ? severalCalls(tools, ways) : undefined;
    if (many) return expectsCall({ calls: many.calls, text: many.isOneRequest ? besideRemark(many) : many.text });
    const one = asked(rng.chance(0.6) ? tools[index % tools.length] : rng.pick(tools));
    return one && expectsCall({ calls: one.calls, text: withRemark(one) });
  }

  // Small talk, or a request that none of the tools can serve.
  function withoutCall(tools, { own, strangers, mentions }) {
    if (rng.chance(0.2)) {
      const text = rng.chance(0.1)
        ? filled(rng.pick(refusals))
        : remark(rng.chance(mentions) ? relatedRemarks(tools) : remarks);
      return { text: withPunctuation(text, { rng }), answer: asideAnswer, calls: [] };
    }
    if (rng.chance(0.25)) {
      const { asked: ways, answer } = rng.pick(rng.chance(own ? 0.6 : 0.25) ? asides : talk);
      return { text: withPunctuation(rng.pick(ways), { rng }), answer, calls: [] };
    }
    const one = foreignTo(tools, { own, strangers });
    return one && { text: withRemark(one), answer: noToolAnswer, calls: [] };
  }

  // Remarks with a value that one of the tools takes, if there are any.
  function relatedRemarks(tools) {
    const pools = tools.flatMap(({ slots }) => Object.values(slots).map(({ values }) => values));
    const known = pools.flatMap((pool) => byPool.get(pool) ?? []);
    return known.length > 0 ? known : remarks;
  }

  // People add a reason or a remark before or after a request: still only one call is expected.
  function withRemark(one) {
    return besideRemark({ ...one, text: withStyle(one, rng) });
  }

  function besideRemark({ text, opensWithValue }) {
    if (rng.chance(0.75)) return text;
    const other = withPunctuation(remark(), { rng });
    const closed = /[.!?]$/.test(other) ? other : `${other}.`;
    if (rng.chance(0.3)) return /[.!?]$/.test(text) ? `${text} ${other}` : `${text}, ${lowerFirst(other)}`;
    if (rng.chance(0.7)) return `${closed} ${text}`;
    const joint = `${closed.slice(0, -1)}, ${rng.pick(['so ', 'and ', 'but ', ''])}`;
    return joint + (opensWithValue ? text : lowerFirst(text));
  }
}

// Within a sentence nothing but "I" keeps its capital.
const lowerFirst = (text) => (/^I\b/.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1));
