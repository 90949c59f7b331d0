// Generates messages to a list of tools: requests for one call or several, and messages that need no call.
import { withStyle, withPunctuation } from './styleVariation.mjs';
import { asideAnswer, noToolAnswer } from './smallTalk.mjs';
import { answerText, callText } from './prompts.mjs';
import { severalCallsFrom } from './severalCalls.mjs';
import { capitalised } from './words.mjs';

/**
 * Creates `message`, which generates messages to tools, and `remark`, which generates remarks that need no call.
 * `asked(tool, calls)` and `inTurn(tool, calls)` create a request (see requests.mjs and repeatedCalls.mjs),
 * `foreignTo(tools, { own, strangers })` one that none of the tools fits; `talk` and `asides` are intents; `remarks` need no call
 * and `refusals` cancel something, both texts with `{pools}` in them. A mix (lessonMix.mjs) sets the shares.
 */
export function messagesFrom({ asked, inTurn, foreignTo, talk, asides, remarks, refusals, again, fill, report, rng }) {
  const remark = (list = remarks) => fill(rng.pick(list));
  const severalCalls = severalCallsFrom({ asked, inTurn, rng });
  const byPool = new Map();
  for (const text of remarks)
    for (const [, pool] of text.matchAll(/\{(\w+)\}/g)) byPool.set(pool, [...(byPool.get(pool) ?? []), text]);

  return { message, remark };

  /** A message and the expected calls; undefined if the random choice is not possible with these tools. */
  function message(tools, format, index, mix) {
    const said = anyMessage(tools, index, mix);
    if (!said) return undefined;
    const { text, calls, answer } = said;
    return { text, calls, answer: calls.length > 0 ? callText(format, calls) : answerText(format, answer) };
  }

  function anyMessage(tools, index, { quiet, several, own, ways, strangers, remarkShare, mentions, reports, last }) {
    if (rng.chance(last ? reports : reports / 12))
      return reported(tools, last ?? (rng.chance(0.5) ? madeUp(tools) : undefined));
    if (rng.chance(quiet)) return withoutCall(tools, { own, strangers, remarkShare, mentions });
    const many = rng.chance(several) ? severalCalls(tools, ways) : undefined;
    if (many) return { calls: many.calls, text: many.isOneRequest ? besideRemark(many) : many.text };
    const one = asked(rng.chance(0.6) ? tools[index % tools.length] : rng.pick(tools));
    return one && { calls: one.calls, text: withRemark(one) };
  }

  // What came of the last call, and sometimes a question or a request after it.
  function reported(tools, last) {
    const { text } = report(last);
    const closed = /[.!?)\]*"]$/.test(text) ? text : `${text}.`;
    if (rng.chance(0.1)) {
      const { asked: ways, answer } = rng.pick(talk);
      return { text: `${closed} ${withPunctuation(capitalised(rng.pick(ways)), { rng })}`, answer, calls: [] };
    }
    if (tools.length === 0 || rng.chance(0.75)) return { text, answer: asideAnswer, calls: [] };
    const one = asked(rng.pick(tools));
    if (!one) return undefined;
    const request = rng.chance(0.5) ? capitalised(rng.pick(again)) + one.text : withStyle(one, rng);
    return { calls: one.calls, text: `${closed} ${request}` };
  }

  // A call that the dialog does not show, because it was cleared or the program made it.
  function madeUp(tools) {
    const tool = tools.length > 0 ? rng.pick(tools) : undefined;
    const one = tool && asked(tool);
    return one && { tool, text: one.text, call: one.calls[0] };
  }

  // Small talk, or a request that none of the tools can serve.
  function withoutCall(tools, { own, strangers, remarkShare, mentions }) {
    if (rng.chance(remarkShare)) {
      const text = rng.chance(0.1)
        ? fill(rng.pick(refusals))
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
