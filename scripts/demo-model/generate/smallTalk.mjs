// Small talk, characters, and the answers to messages that need no call.
import { partOf } from './catalogue.mjs';
import { capitalised, inventedWord } from './words.mjs';

/** The answer to a request that no tool fits. */
export const noToolAnswer = 'Sorry, I have no tool for that.';

/** The answer to a message that needs no call: with tools in the prompt, the next node writes the real answer. */
export const asideAnswer = "Let's talk about that.";

/** System prompts without a character. */
export const instructions = [
  'You are a helpful assistant.',
  'You are a helpful assistant.',
  'You are a helpful assistant that can use tools.',
  'You are a desktop assistant.',
  'You control a smart home.',
  'You are a smart-home assistant.',
  'Answer briefly.',
  'You are a friendly tavern keeper.',
  'You are the game master of a fantasy game.',
  'You steer a robot.',
  'You are a concise assistant. Use tools when they fit.',
  'You are a lamp. Be brief.',
  'You help the player.',
  'You are the voice of a game.',
  'You are a careful assistant.',
  'Be kind and short.',
  'You work for a small shop.',
  'You are the computer of a space ship.',
  'Help the user with their work.',
  'You run the house.',
  'You serve the guests.',
];

// The held-out share of the wordings.
const heldAskings = 0.1;

const inPart = (part, intents) =>
  intents.map(({ asked, answer }) => ({ answer, asked: partOf(part, asked, heldAskings, (text) => `asking ${text}`) }));

/** Small talk of a part. */
export const smallTalk = ({ talk }, part) => inPart(part, talk);

/** Messages to a character with tools that need no call: "What do you sell?" */
export const characterAsides = ({ characters }, part) =>
  inPart(
    part,
    characters.flatMap(({ talk }) => talk.filter(({ answer }) => !answer.includes('{name}'))),
  ).map(({ asked }) => ({ asked, answer: asideAnswer }));

// Default answers to unknown messages.
const unsure = {
  question: "I'm afraid I don't know that.",
  remark: 'I see. Tell me more about it.',
  request: "I'm afraid I can't do that.",
};

/** A conversation partner: a system prompt, its intents, and its answers to everything else. */
export function characterTalk(chat, rng, part) {
  if (rng.chance(0.35)) {
    const system = rng.chance(0.3) ? '' : rng.pick(instructions.slice(0, 7));
    return { system, intents: smallTalk(chat, part), unsure };
  }
  const character = rng.chance(0.3) ? chat.characters[rng.below(3)] : rng.pick(chat.characters);
  const name = nameOf(character, rng);
  const named = (text) => text.replaceAll('{name}', name);
  // Intents without an answer of the character get the general one.
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

/** A system prompt of a random character. */
export function characterPrompt({ characters }, rng) {
  const character = rng.pick(characters);
  return rng.pick(character.prompts).replaceAll('{name}', nameOf(character, rng));
}

// The character uses the name of the prompt, so names are sometimes invented.
const nameOf = ({ names }, rng) => (rng.chance(0.4) ? capitalised(inventedWord(rng)) : rng.pick(names));
