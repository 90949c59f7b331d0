// Questions with a word as the answer: which label fits a message (the Route node), and whether a condition holds (SelectTools).
import { resultLine } from '../../../dist/chat/calls.js';
import { stringifyJson } from '../../../dist/chat/json/value.js';
import { isCommand, withPunctuation, withStyle } from './styleVariation.mjs';

const other = {
  names: ['chat', 'other', 'small_talk', 'talk', 'none', 'something_else', 'unknown', 'rest', 'general'],
  whens: [
    'anything else',
    'anything else',
    'small talk and anything else',
    'none of these',
    '',
    'all other messages',
    'the user just talks',
  ],
};
const wishes = [
  'the user wants to {deed}',
  'the user wants to {deed}',
  'the user asks to {deed}',
  'to {deed}',
  'a request to {deed}',
];
const subjects = ['this is wanted: {text}', '{text}', 'it is about this: {text}'];

/**
 * Creates `routeDocument()` and `conditionDocument()`. `group(count)` declares tools of different actions, `asked(tool)` creates a
 * request, `aside()` a message that requests nothing, `result(call)` a result; `about(topic)` and `topicsOf(text)` are those of
 * topicMessages.mjs.
 */
export function choiceDocumentsFrom({ topics, about, topicsOf, group, asked, aside, result, history, rng }) {
  return { routeDocument, conditionDocument };

  function routeDocument() {
    const tools = group(rng.pick([1, 2, 2, 2, 3, 3, 4]));
    const labels = rng.chance(0.6) ? topicLabels() : tools.map(toolLabel);
    const rest = labels.length === 1 || rng.chance(0.7) ? restLabel(labels) : undefined;
    const all = rest ? (rng.chance(0.8) ? [...labels, rest] : rng.shuffled([...labels, rest])) : labels;
    if (new Set(all.map(({ name }) => name)).size < all.length) return routeDocument();
    const lines = all.map(labelLine).join('\n');
    const system = `Read the user's message and reply with one label only.\n\nLabels:\n${lines}`;
    const branches = Array.from({ length: 6 + rng.below(7) }, () => {
      const label = rest && rng.chance(0.35) ? rest : rng.pick(labels);
      const said = label.message();
      return said && !others(labels, label).some((other) => other.fits?.(said))
        ? answered(said, label.name)
        : undefined;
    });
    return { system, history: rng.chance(0.25) ? history(tools) : [], branches: branches.filter(Boolean) };
  }

  function others(labels, own) {
    return labels.filter((label) => label !== own);
  }

  function toolLabel(tool) {
    const message = () => styled(asked(tool));
    return { name: labelOf(tool), when: rng.chance(0.93) ? purposeOf(tool) : '', message };
  }

  function topicLabels() {
    const chosen = rng.shuffled(topics).slice(0, rng.pick([1, 2, 2, 3, 4]));
    return chosen.map((topic) => ({
      name: rng.pick(topic.names),
      when: rng.chance(0.95) ? conditionOn(topic) : '',
      message: () => spoken(topic),
      fits: (text) => topicsOf(text).has(topic),
    }));
  }

  // The label for everything else.
  function restLabel(labels) {
    const message = () => {
      const said = rng.chance(0.5) ? aside() : spoken(rng.pick(topics));
      return said && !labels.some(({ fits }) => fits?.(said)) ? said : aside();
    };
    return { name: rng.pick(other.names), when: rng.pick(other.whens), message };
  }

  function conditionOn(topic) {
    if (rng.chance(0.1)) return rng.pick(['it is about ', 'anything about ', 'talk of ']) + topic.names[0];
    return `the user ${rng.pick(topic.whens)}`;
  }

  function spoken(topic) {
    const text = about(topic);
    return text === undefined ? undefined : withPunctuation(text, { rng });
  }

  function styled(one) {
    return one && withStyle(one, rng);
  }

  function labelLine({ name, when, message }) {
    const examples = rng.chance(0.4) ? Array.from({ length: rng.pick([1, 2, 2, 3]) }, message).filter(Boolean) : [];
    const said = examples.map(
      (text) => `"${rng.chance(0.6) ? text.replace(/[.!]$/, '').replace(/^[A-Z](?=[a-z])/, lower) : text}"`,
    );
    const described = when === '' ? `- ${name}` : `- ${name}: ${when}`;
    if (said.length === 0) return described;
    return when === '' ? `${described}: such as ${said.join(', ')}` : `${described}, such as ${said.join(', ')}`;
  }

  function conditionDocument() {
    const system = "Read the user's message and decide whether a condition holds. Reply with yes or no only.";
    const tools = group(4);
    const branches = Array.from({ length: 10 + rng.below(8) }, () =>
      rng.chance(0.6) ? topicBranch() : conditionBranch(tools),
    );
    return { system, history: rng.chance(0.2) ? history(tools) : [], branches: branches.filter(Boolean) };
  }

  function topicBranch() {
    const topic = rng.pick(topics);
    const said = rng.chance(0.55) ? spoken(topic) : rng.chance(0.5) ? spoken(rng.pick(topics)) : aside();
    if (!said) return undefined;
    const results = rng.chance(0.15)
      ? [`${rng.pick(group(1)).declaration.name} {}: ${result({ arguments: {} }).content}`]
      : [];
    const holds = topicsOf([said, ...results].join(' ')).has(topic);
    return question(said, results, { condition: conditionOn(topic), holds });
  }

  function conditionBranch(tools) {
    const [tool, stranger] = rng.shuffled(tools);
    const one = rng.chance(0.8) ? asked(tool) : undefined;
    const results = one && rng.chance(0.25) ? one.calls.map((call) => ({ call, result: result(call) })) : [];
    const lines = results.map(({ call, result: { ok, content } }) =>
      resultLine({ name: `${call.name} ${stringifyJson(call.arguments)}`, ok, content }).replace(/^Result of /, ''),
    );
    const holds = one !== undefined && rng.chance(0.55);
    const condition = purposeOf(holds ? tool : one ? stranger : tool);
    const message = one ? withStyle(one, rng) : aside();
    return question(message, lines, { condition, holds });
  }

  function question(message, results, { condition, holds }) {
    const asks = [`Message: ${message}`, ...results.map((line) => `Results: ${line}`), `Condition: ${condition}`];
    return answered(asks.join('\n'), holds ? 'yes' : 'no');
  }

  function labelOf({ action, declaration }) {
    return rng.chance(0.5) ? rng.pick(action.names) : rng.pick([declaration.name, ...declaration.name.split('_')]);
  }

  // What a tool is for, as the condition of a label or a guideline.
  function purposeOf({ action }) {
    const text = rng.pick(action.descriptions).replace(/\.$/, '');
    const [verb, ...words] = text.split(' ');
    const deed = [bareVerb(verb.toLowerCase()), ...words].join(' ');
    if (isCommand(deed)) return rng.pick(wishes).replace('{deed}', deed);
    return rng.pick(subjects).replace('{text}', text.charAt(0).toLowerCase() + text.slice(1));
  }
}

const lower = (letter) => letter.toLowerCase();
const answered = (text, answer) => ({ turns: [{ said: { role: 'user', text }, answer }], calls: [] });

// "switches" to "switch".
function bareVerb(verb) {
  if (isCommand(verb)) return verb;
  const stems = [verb.replace(/s$/, ''), verb.replace(/es$/, ''), verb.replace(/ies$/, 'y')];
  return stems.find((stem) => stem !== verb && isCommand(stem)) ?? verb;
}
