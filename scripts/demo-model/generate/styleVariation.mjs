// Style variation of messages: politeness, reasons, greetings, capitals and punctuation.
import { capitalised } from './words.mjs';

// Verbs that begin a command; "please" and "could you" are added only to commands.
const commands = new Set(
  `let put get make give take tell turn set show bring start go stop keep add check switch send look open drop use run write
  throw change find move call leave hold save pull come hit count shut play pick say fire close note mark fill cut ask hand
  see kill read wake sign forget ring hang lower swap wait order raise book stick light begin grab park cancel draw roll help
  skip log blow remove reserve search lock freeze mute swing stay sound try remind crank clear strike delete push buy hide
  empty jump shoot clean load kick quit create undo break walk remember track share wipe pause water heat pass charge tick
  print click snap boot feed warm toss cast lay teach finish speak flip list lift connect release ping build silence file
  knock post press slip return spend train unlock answer dig capture record wash fetch free bolt stand mix point offer pay
  shake pop measure name halt erase launch message sneak queue scrap convert activate chase spin invite wrap sell join sit
  craft saddle hoist hook translate split think blast disconnect pour carry resume wave dump dim block plan reply phone
  announce shout rename hire store trim continue repeat aim surprise equip trade replace work crack abort calm sink summon
  exchange quiz test hop douse rewind collect hail dive gather secure poke schedule jot text mail navigate guide refund
  register forward transfer scale lead reset report restart fix rent step power protect preheat tune sort stretch place drive
  loop pin yell seal follow plant disengage brew stir boil crouch abandon rest catch apply reload flick accept decline haul
  burn dock pump assign cool watch invent attack scribble dial hunt type treat pack copy insert reboot shift reschedule
  reverse compare tuck update arm bake dress chop export shuffle cover beam unpause cheer fade stack ride rotate paint tie
  repair heal guard retreat meet dance bribe arrest interrogate define spell choose refresh redo`.split(/\s+/),
);

const before = [
  'please ',
  'please ',
  'can you ',
  'can you ',
  'could you ',
  'could you please ',
  'would you ',
  'would you mind, ',
  'I want you to ',
  "I'd like you to ",
  'I need you to ',
  'go and ',
  'quickly ',
  'just ',
  'now ',
  'be so kind and ',
];
const openers = [
  'hey, ',
  'hey, ',
  'ok, ',
  'okay ',
  'so, ',
  'well, ',
  'oh, ',
  'hi, ',
  'hello, ',
  'right, ',
  'listen, ',
  'alright, ',
  'good morning, ',
  'good evening, ',
  'excuse me, ',
  'one more thing: ',
  'computer, ',
  'my friend, ',
  'um, ',
];
const reasons = [
  'I just got home. ',
  "It's getting late. ",
  "I'm in a hurry. ",
  'Good morning! ',
  'Hi there. ',
  'Thanks for that. ',
  "I can't do it myself right now. ",
  'My hands are full. ',
  'Nice to see you. ',
  'Quick question. ',
  'Guests are coming. ',
  "Let's go on. ",
  'Before I forget. ',
  'I had a long day. ',
  "You're the best. ",
  'Sorry to bother you. ',
  'One thing. ',
];
const after = [
  ' please',
  ' please',
  ', please',
  ', please',
  ' now',
  ' for me',
  ', thanks',
  ', thank you',
  ', will you',
  ' if you can',
  ' right away',
  ', ok',
  ', would you',
  ', my friend',
  ' when you have a moment',
  ', quickly',
];
const questions = new Set(
  `can could would will what what's how how's is are do does did where where's when when's who who's which why should shall
  any am was were has have isn't don't`.split(/\s+/),
);

/** Whether a text begins as a question does. */
export const isQuestion = (text) => questions.has(firstWord(text));

/** Whether a text begins with the verb of a command. */
export const isCommand = (text) => commands.has(firstWord(text.trim()));

const firstWord = (text) => text.split(/[\s,:]/, 1)[0].toLowerCase();

/** A request in a random style. */
export function withStyle({ text, opensWithValue = false }, rng) {
  let said = text.trim();
  let question = isQuestion(said);
  const command = !opensWithValue && isCommand(said);
  let opens = opensWithValue;
  if (command && rng.chance(0.25)) {
    const manner = rng.pick(before);
    said = manner + said;
    question ||= /^(can|could|would)/.test(manner);
  } else if (command && rng.chance(0.12)) said += rng.pick(after);
  if (rng.chance(0.08)) {
    said = rng.pick(openers) + said;
    opens = false;
  }
  const reason = rng.chance(0.05) ? rng.pick(reasons) : '';
  return withPunctuation(said, { rng, question, opens, reason });
}

/** A text with random capitalisation and final punctuation. */
export function withPunctuation(text, { rng, question = isQuestion(text), opens = false, reason = '' }) {
  const upper = reason || (!opens && rng.chance(0.75));
  const written = reason + (upper && !opens ? capitalised(text) : text);
  if (/[.!?]$/.test(written)) return written;
  const mark = question ? rng.pick(['?', '?', '?', '']) : rng.pick(['.', '.', '.', '', '', '', '!']);
  return written + mark;
}
