// Documents to learn from. One list of tools (or one character) is followed by many messages that do not know of each
// other, so that a long list of tools is read once and used often.
import { heldOut, likenessOf, partOf } from './catalogue.mjs';
import { dressed, finished, isQuestion } from './styleVariation.mjs';
import { askInTurn } from './repeatedCalls.mjs';
import { usual } from './lessonMix.mjs';
import { messagesFrom } from './messages.mjs';
import { ask } from './requests.mjs';
import { characterAsides, characterPrompt, characterTalk, instructions, resultOf, smallTalk } from './smallTalk.mjs';
import { toolOf } from './tools.mjs';
import { valuesFrom } from './values.mjs';
import { blockFor, formatNames, resultMessage } from './prompts.mjs';

// What training never sees of actions, and of the requests of those that it sees.
const shares = { actions: 0.07, requests: 0.06 };

// How alike actions of different files may be: to stand in one list; for one to be asked for where only the other is (and
// where that is a shipped tool); and for training to have the one while the other is held out.
const likeness = { together: 0.38, instead: 0.22, insteadOfShipped: 0.12, besideHeld: 0.55 };

/** Makes documents of a part, `train` or `held`, of the catalogue; all of them from one chance. */
export function documentsFrom({ actions, values: pools, chat, asides }, chance, part = 'train') {
  const { alike, same, shipped, [part]: others } = sortedOut(actions);
  const byTopic = grouped(others);
  const requests = new Map(actions.map((action) => [action, requestsOf(action, part)]));
  const draw = valuesFrom(pools, chance, part);
  const talk = smallTalk(chat, part);
  const inPart = (list) => partOf(part, list, shares.requests, (text) => `aside ${text}`);

  const words = (way) => (tool, calls) => way(tool, { requests: requests.get(tool.action), draw, chance, calls });
  const asked = words(ask);
  const { message, remark } = messagesFrom({
    ...{ asked, inTurn: words(askInTurn), foreignTo, talk, draw, chance },
    asides: characterAsides(chat, part),
    remarks: inPart(asides.remarks),
    refusals: inPart(asides.refusals),
  });

  function toolsOf(count, { own }) {
    const camel = chance.often(0.1);
    const near = chance.often(0.5) ? chance.pick([...byTopic.keys()]) : undefined;
    const chosen = new Set();
    const names = new Set();
    const tools = [];
    while (tools.length < count) {
      const close = near !== undefined && chance.often(0.8) && byTopic.get(near).length > count;
      const list = own ? shipped : close ? byTopic.get(near) : others;
      const action = chance.pick(list);
      if (chosen.has(action) || [...chosen].some((other) => same(action, other, likeness.together))) continue;
      const tool = toolOf(action, { chance, part, camel, plain: own && chance.often(0.7) });
      if (names.has(tool.declaration.name)) continue;
      chosen.add(action);
      names.add(tool.declaration.name);
      tools.push(tool);
    }
    return tools;
  }

  /** A request that none of the tools can serve; undefined where the chance fell on one that might. */
  function foreignTo(tools, { own, strangers }) {
    const offered = new Set(tools.map(({ action }) => action));
    const topics = new Set(tools.map(({ action }) => action.topic));
    const how = chance.pick(strangers);
    const foreign = how === 'any' ? others : others.filter(({ topic }) => topics.has(topic) === (how === 'near'));
    const action = chance.pick(foreign.length > 0 ? foreign : others);
    const limit = own ? likeness.insteadOfShipped : likeness.instead;
    if (offered.has(action) || [...offered].some((other) => same(action, other, limit))) return undefined;
    if (how === 'near' && [...offered].some((other) => alike(action, other) > limit)) return undefined;
    return asked(toolOf(action, { chance, part }));
  }

  /** A list of `tools` tools (of the shipped ones: `own`) and so many messages about it; the rest of what is given is a lesson. */
  function toolDocument(given) {
    const {
      format = chance.pick(formatNames),
      tools: count = chance.pick([1, 1, 2, 2, 3, 3, 4, 5, 6]),
      messages,
      own = false,
      ...lesson
    } = { ...usual, ...given };
    const tools = toolsOf(own ? Math.min(count, shipped.length) : count, { own });
    const declarations = tools.map(({ declaration }) => declaration);
    const wanted = messages ?? 5 + chance.below(5 + 2 * tools.length);
    const branches = [];
    for (let index = 0; branches.length < wanted; index++) {
      const said = message(tools, format, index, { own, ...lesson });
      if (said) branches.push({ turns: turnsOf(said, format), calls: said.calls });
    }
    const history = chance.often(lesson.past) ? earlier(tools, lesson) : [];
    return { format, system: systemPrompt(), tools: blockFor(declarations, format), declarations, history, branches };
  }

  function systemPrompt() {
    if (chance.often(0.45)) return '';
    return chance.often(0.25) ? characterPrompt(chat, chance) : chance.pick(instructions);
  }

  // Now and then the result of a call is told, and something is said about it.
  function turnsOf({ text, answer, calls }, format) {
    const turn = { said: { role: 'user', text }, answer };
    if (calls.length !== 1 || !chance.often(0.04)) return [turn];
    const { result, reply } = resultOf(chance);
    return [turn, { said: resultMessage(format, result), answer: reply }];
  }

  // What was said before, as the node that looks for calls is shown it: words, never calls.
  function earlier(tools, { busy, replies }) {
    const turns = Array.from({ length: chance.pick([1, 1, 2, 3]) }, () => {
      const one = chance.often(busy) ? asked(chance.pick(tools)) : undefined;
      const { asked: ways, answer } = chance.pick(talk);
      return [
        { role: 'user', text: one ? dressed(one, chance) : finished(chance.pick(ways), { chance }) },
        { role: 'assistant', text: one ? chance.pick(replies) : answer },
      ];
    });
    return turns.flat().filter(({ text }) => text !== '');
  }

  /** A character, or a helpful assistant, and some conversations; before them some things may have been done. */
  function talkDocument({ replies } = usual) {
    const { system, intents, unsure } = characterTalk(chat, chance, part);
    const history = chance.often(0.25)
      ? earlier(toolsOf(2, { own: chance.often(0.5) }), { busy: usual.busy, replies })
      : [];
    const branches = Array.from({ length: 4 + chance.below(5) }, () => {
      const turns = Array.from({ length: chance.pick([1, 1, 2, 3]) }, () => {
        const { text, answer } = chance.often(0.15) ? unexpected(unsure) : expected(intents);
        return { said: { role: 'user', text: finished(text, { chance }) }, answer };
      });
      return { turns, calls: [] };
    });
    return { system, history, branches };
  }

  function expected(intents) {
    const { asked: ways, answer } = chance.pick(intents);
    return { text: chance.pick(ways), answer };
  }

  // What a character has no words for.
  function unexpected({ question, remark: comment, request }) {
    const one = chance.often(0.3) ? asked(toolOf(chance.pick(others), { chance, part })) : undefined;
    if (one) return { text: dressed(one, chance), answer: request };
    const text = remark();
    return { text, answer: isQuestion(text) ? question : comment };
  }

  return { toolDocument, talkDocument };
}

// What is the same for every chance takes seconds to find, and is found once for a catalogue.
const found = new WeakMap();

// The shipped tools are in every list of their own, whatever the part: of them only requests are held out.
function sortedOut(actions) {
  if (found.has(actions)) return found.get(actions);
  const alike = likenessOf(actions);
  const same = (one, other, limit) => one.topic !== other.topic && alike(one, other) > limit;
  const shipped = actions.filter(({ topic }) => topic === 'shipped');
  const rest = actions.filter(({ topic }) => topic !== 'shipped');
  const held = rest.filter(isHeld);
  const isBesideHeld = (action) => held.some((other) => same(action, other, likeness.besideHeld));
  const train = rest.filter((action) => !isHeld(action) && !isBesideHeld(action));
  found.set(actions, { alike, same, shipped, held, train });
  return found.get(actions);
}

const isHeld = ({ action }) => heldOut(`action ${action}`, shares.actions);

const requestsOf = (action, part) =>
  // Of an action that training never sees, everything is unseen.
  isHeld(action) && action.topic !== 'shipped'
    ? action.requests
    : partOf(part, action.requests, shares.requests, (text) => `request ${text}`);

function grouped(list) {
  const groups = new Map();
  for (const entry of list) groups.set(entry.topic, [...(groups.get(entry.topic) ?? []), entry]);
  return groups;
}
