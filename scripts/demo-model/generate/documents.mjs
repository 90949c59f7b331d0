// Generates training documents. One list of tools (or one character) is the shared prefix of many independent messages, so
// that a long list is evaluated once and used often.
import { heldOut, similarityOf, partOf } from './catalogue.mjs';
import { withStyle, withPunctuation, isQuestion } from './styleVariation.mjs';
import { repeatedCallRequest } from './repeatedCalls.mjs';
import { defaultMix } from './lessonMix.mjs';
import { messagesFrom } from './messages.mjs';
import { createRequest } from './requests.mjs';
import { characterAsides, characterPrompt, characterTalk, instructions, resultOf, smallTalk } from './smallTalk.mjs';
import { toolOf } from './tools.mjs';
import { valuesFrom } from './values.mjs';
import { blockFor, formatNames, resultMessage } from './prompts.mjs';

// Held-out shares of the actions, and of the requests of the other actions.
const shares = { actions: 0.07, requests: 0.06 };

// The largest similarity of actions of different files: in one list; of a requested action to those of the list (and to shipped
// ones); and of a training action to a held-out one.
const maxSimilarity = { together: 0.38, instead: 0.22, insteadOfShipped: 0.12, besideHeld: 0.55 };

/**
 * A conversation about a list of tools, and the calls that are expected.
 * @typedef {object} Branch
 * @property {readonly {
 *   readonly said: { readonly role: string, readonly text: string },
 *   readonly answer: string,
 * }[]} turns
 * @property {readonly { readonly name: string, readonly arguments: Readonly<Record<string, unknown>> }[]} calls
 */

/**
 * A list of tools, and conversations about it that do not see each other.
 * @typedef {object} ToolDocument
 * @property {readonly {
 *   readonly name: string,
 *   readonly parameters: readonly { readonly name: string, readonly enum?: readonly unknown[] }[],
 * }[]} declarations
 * @property {readonly Branch[]} branches
 */

/**
 * Creates the generator of documents of one part of the catalogue; all its random choices come from one generator.
 * @param {import('./catalogue.mjs').Catalogue} catalogue
 * @param {import('../../seededRandom.mjs').Rng} rng
 * @param {'train' | 'held'} [part]
 * @returns {{ toolDocument: (mix?: object) => ToolDocument, talkDocument: (mix?: object) => object }}
 */
export function documentsFrom({ actions, values: pools, chat, asides }, rng, part = 'train') {
  const { alike, same, shipped, [part]: others } = splitActions(actions);
  const byTopic = grouped(others);
  const requests = new Map(actions.map((action) => [action, requestsOf(action, part)]));
  const draw = valuesFrom(pools, rng, part);
  const talk = smallTalk(chat, part);
  const inPart = (list) => partOf(part, list, shares.requests, (text) => `aside ${text}`);

  const requestFactory = (way) => (tool, calls) => way(tool, { requests: requests.get(tool.action), draw, rng, calls });
  const asked = requestFactory(createRequest);
  const { message, remark } = messagesFrom({
    asked,
    inTurn: requestFactory(repeatedCallRequest),
    foreignTo,
    talk,
    draw,
    rng,
    asides: characterAsides(chat, part),
    remarks: inPart(asides.remarks),
    refusals: inPart(asides.refusals),
  });

  function toolsOf(count, { own }) {
    const camel = rng.chance(0.1);
    const near = rng.chance(0.5) ? rng.pick([...byTopic.keys()]) : undefined;
    const chosen = new Set();
    const names = new Set();
    const tools = [];
    while (tools.length < count) {
      const close = near !== undefined && rng.chance(0.8) && byTopic.get(near).length > count;
      const list = own ? shipped : close ? byTopic.get(near) : others;
      const action = rng.pick(list);
      if (chosen.has(action) || [...chosen].some((other) => same(action, other, maxSimilarity.together))) continue;
      const tool = toolOf(action, { rng, part, camel, plain: own && rng.chance(0.7) });
      if (names.has(tool.declaration.name)) continue;
      chosen.add(action);
      names.add(tool.declaration.name);
      tools.push(tool);
    }
    return tools;
  }

  /** A request that none of the tools can serve; undefined if the random action resembles one of them. */
  function foreignTo(tools, { own, strangers }) {
    const offered = new Set(tools.map(({ action }) => action));
    const topics = new Set(tools.map(({ action }) => action.topic));
    const how = rng.pick(strangers);
    const foreign = how === 'any' ? others : others.filter(({ topic }) => topics.has(topic) === (how === 'near'));
    const action = rng.pick(foreign.length > 0 ? foreign : others);
    const limit = own ? maxSimilarity.insteadOfShipped : maxSimilarity.instead;
    if (offered.has(action) || [...offered].some((other) => same(action, other, limit))) return undefined;
    if (how === 'near' && [...offered].some((other) => alike(action, other) > limit)) return undefined;
    return asked(toolOf(action, { rng, part }));
  }

  /** A list of `tools` tools (of the shipped ones: `own`) and `messages` messages; the other options are a mix (lessonMix.mjs). */
  function toolDocument(options) {
    const {
      format = rng.pick(formatNames),
      tools: count = rng.pick([1, 1, 2, 2, 3, 3, 4, 5, 6]),
      messages,
      own = false,
      ...mix
    } = { ...defaultMix, ...options };
    const tools = toolsOf(own ? Math.min(count, shipped.length) : count, { own });
    const declarations = tools.map(({ declaration }) => declaration);
    const wanted = messages ?? 5 + rng.below(5 + 2 * tools.length);
    const branches = [];
    for (let index = 0; branches.length < wanted; index++) {
      const said = message(tools, format, index, { own, ...mix });
      if (said) branches.push({ turns: turnsOf(said, format), calls: said.calls });
    }
    const history = rng.chance(mix.past) ? earlier(tools, mix) : [];
    return { format, system: systemPrompt(), tools: blockFor(declarations, format), declarations, history, branches };
  }

  function systemPrompt() {
    if (rng.chance(0.45)) return '';
    return rng.chance(0.25) ? characterPrompt(chat, rng) : rng.pick(instructions);
  }

  // Sometimes the result of a call follows, and an answer about it.
  function turnsOf({ text, answer, calls }, format) {
    const turn = { said: { role: 'user', text }, answer };
    if (calls.length !== 1 || !rng.chance(0.04)) return [turn];
    const { result, reply } = resultOf(rng);
    return [turn, { said: resultMessage(format, result), answer: reply }];
  }

  // Earlier turns as the ToolCall node sees them: text, never calls.
  function earlier(tools, { busy, replies }) {
    const turns = Array.from({ length: rng.pick([1, 1, 2, 3]) }, () => {
      const one = rng.chance(busy) ? asked(rng.pick(tools)) : undefined;
      const { asked: ways, answer } = rng.pick(talk);
      return [
        { role: 'user', text: one ? withStyle(one, rng) : withPunctuation(rng.pick(ways), { rng }) },
        { role: 'assistant', text: one ? rng.pick(replies) : answer },
      ];
    });
    return turns.flat().filter(({ text }) => text !== '');
  }

  /** A character or a helpful assistant, and some conversations, sometimes after earlier tool turns. */
  function talkDocument({ replies } = defaultMix) {
    const { system, intents, unsure } = characterTalk(chat, rng, part);
    const history = rng.chance(0.25)
      ? earlier(toolsOf(2, { own: rng.chance(0.5) }), { busy: defaultMix.busy, replies })
      : [];
    const branches = Array.from({ length: 4 + rng.below(5) }, () => {
      const turns = Array.from({ length: rng.pick([1, 1, 2, 3]) }, () => {
        const { text, answer } = rng.chance(0.15) ? unexpected(unsure) : expected(intents);
        return { said: { role: 'user', text: withPunctuation(text, { rng }) }, answer };
      });
      return { turns, calls: [] };
    });
    return { system, history, branches };
  }

  function expected(intents) {
    const { asked: ways, answer } = rng.pick(intents);
    return { text: rng.pick(ways), answer };
  }

  // A message that the character has no answer for.
  function unexpected({ question, remark: comment, request }) {
    const one = rng.chance(0.3) ? asked(toolOf(rng.pick(others), { rng, part })) : undefined;
    if (one) return { text: withStyle(one, rng), answer: request };
    const text = remark();
    return { text, answer: isQuestion(text) ? question : comment };
  }

  return { toolDocument, talkDocument };
}

// The split takes seconds and does not depend on the random generator, so it is cached per catalogue.
const splits = new WeakMap();

// The shipped tools are in both parts: only their requests are held out.
function splitActions(actions) {
  if (splits.has(actions)) return splits.get(actions);
  const alike = similarityOf(actions);
  const same = (one, other, limit) => one.topic !== other.topic && alike(one, other) > limit;
  const shipped = actions.filter(({ topic }) => topic === 'shipped');
  const rest = actions.filter(({ topic }) => topic !== 'shipped');
  const held = rest.filter(isHeld);
  const isBesideHeld = (action) => held.some((other) => same(action, other, maxSimilarity.besideHeld));
  const train = rest.filter((action) => !isHeld(action) && !isBesideHeld(action));
  splits.set(actions, { alike, same, shipped, held, train });
  return splits.get(actions);
}

const isHeld = ({ action }) => heldOut(`action ${action}`, shares.actions);

const requestsOf = (action, part) =>
  // All requests of a held-out action are held out.
  isHeld(action) && action.topic !== 'shipped'
    ? action.requests
    : partOf(part, action.requests, shares.requests, (text) => `request ${text}`);

function grouped(list) {
  const groups = new Map();
  for (const entry of list) groups.set(entry.topic, [...(groups.get(entry.topic) ?? []), entry]);
  return groups;
}
