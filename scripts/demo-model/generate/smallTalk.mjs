// Conversation: small talk, characters, and what is said when there is nothing to call.
import { partOf } from './catalogue.mjs';
import { capitalised, inventedWord } from './words.mjs';

/** What the model says to a request that no tool fits. */
export const noToolAnswer = 'Sorry, I have no tool for that.';

/** The answer to what nobody has to do anything about: with tools in the prompt, the voice is that of the next node. */
export const asideAnswer = "Let's talk about that.";

/** System prompts that say little about who speaks. */
export const instructions = [
  ...[
    'You are a helpful assistant.',
    'You are a helpful assistant.',
    'You are a helpful assistant that can use tools.',
  ],
  ...[
    'You are a desktop assistant.',
    'You control a smart home.',
    'You are a smart-home assistant.',
    'Answer briefly.',
  ],
  ...['You are a friendly tavern keeper.', 'You are the game master of a fantasy game.', 'You steer a robot.'],
  ...['You are a concise assistant. Use tools when they fit.', 'You are a lamp. Be brief.', 'You help the player.'],
  ...[
    'You are the voice of a game.',
    'You are a careful assistant.',
    'Be kind and short.',
    'You work for a small shop.',
  ],
  ...[
    'You are the computer of a space ship.',
    'Help the user with their work.',
    'You run the house.',
    'You serve the guests.',
  ],
];

// Ways to ask that training never sees.
const heldAskings = 0.1;

const inPart = (part, intents) =>
  intents.map(({ asked, answer }) => ({ answer, asked: partOf(part, asked, heldAskings, (text) => `asking ${text}`) }));

/** Small talk of a part. */
export const smallTalk = ({ talk }, part) => inPart(part, talk);

/** What one says to a character that has tools, where it is nothing to call one for: "What do you sell?" */
export const characterAsides = ({ characters }, part) =>
  inPart(
    part,
    characters.flatMap(({ talk }) => talk.filter(({ answer }) => !answer.includes('{name}'))),
  ).map(({ asked }) => ({ asked, answer: asideAnswer }));

// What is said where there is nothing to say, by who is nobody in particular.
const unsure = {
  question: "I'm afraid I don't know that.",
  remark: 'I see. Tell me more about it.',
  request: "I'm afraid I can't do that.",
};

/** Somebody to talk to: a system prompt, what is asked and answered, and what is said to all else. */
export function characterTalk(chat, rng, part) {
  if (rng.chance(0.35)) {
    const system = rng.chance(0.3) ? '' : rng.pick(instructions.slice(0, 7));
    return { system, intents: smallTalk(chat, part), unsure };
  }
  const character = rng.chance(0.3) ? chat.characters[rng.below(3)] : rng.pick(chat.characters);
  const name = nameOf(character, rng);
  const named = (text) => text.replaceAll('{name}', name);
  // What the character has no words of its own for, it answers as everybody would.
  const own = inPart(
    part,
    character.talk.map(({ asked, answer }) => ({ asked, answer: named(answer) })),
  );
  const asked = new Set(own.flatMap((intent) => intent.asked));
  const general = rng.chance(0.3)
    ? smallTalk(chat, part).filter((intent) => !intent.asked.some((way) => asked.has(way)))
    : [];
  return {
    system: named(rng.pick(character.prompts)),
    intents: [...own, ...own, ...own, ...general.slice(20)],
    unsure: { ...unsure, ...character.unsure },
  };
}

/** A system prompt of somebody. */
export function characterPrompt({ characters }, rng) {
  const character = rng.pick(characters);
  return rng.pick(character.prompts).replaceAll('{name}', nameOf(character, rng));
}

// Whoever it is says the name that the prompt gives, also one that nobody has.
const nameOf = ({ names }, rng) => (rng.chance(0.4) ? capitalised(inventedWord(rng)) : rng.pick(names));

/** The result of a call, and what is said then. */
export function resultOf(rng) {
  const key = rng.pick(['temperature', 'count', 'price', 'level', 'total', 'value', 'distance', 'score']);
  const number = rng.below(100);
  return rng.pick([
    { result: { ok: true }, reply: 'Done.' },
    { result: { done: true }, reply: 'Done.' },
    { result: { [key]: number }, reply: `The ${key} is ${number}.` },
    { result: { error: 'not found' }, reply: 'That did not work: not found.' },
    { result: { error: 'no connection' }, reply: 'That did not work: no connection.' },
    { result: { error: 'not allowed' }, reply: 'That did not work: not allowed.' },
  ]);
}
