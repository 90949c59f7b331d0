// How people dress up what they ask: please and thanks, a reason first, a capital or none, a full stop or none.
import { capitalised } from './words.mjs';

const notCommands = new Set(
  `a about again all also am an and any anybody anyone are as at before better bit can can't could did do does doesn't don't
  each eight everyone every few first five for four from getting got had has have he he's her here here's his hm hmm how how's
  i i'd i'll i'm i've if in is isn't it it'd it'll it's its just last less lots many may me might mind more most mr my need
  needs never next nice nine no nobody not nothing now of oh ok okay on once one only or our out over please ready seven shall
  she she's should six so some somebody someone something soon sorry ten thanks that that's the their them then there there's
  these they they'll they're this those three time to today tomorrow tonight too two under until up wanna want wants was we
  we'd we'll we're we've well were what what's when when's where where's which while who who's whose why will with within
  won't would yes you you'd you'll you're you've your`.split(/\s+/),
);

const before = [
  ...[
    'please ',
    'please ',
    'can you ',
    'can you ',
    'could you ',
    'could you please ',
    'would you ',
    'would you mind, ',
  ],
  ...[
    'I want you to ',
    "I'd like you to ",
    'I need you to ',
    'go and ',
    'quickly ',
    'just ',
    'now ',
    'be so kind and ',
  ],
];
const openers = [
  ...[
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
  ],
  ...['good morning, ', 'good evening, ', 'excuse me, ', 'one more thing: ', 'computer, ', 'my friend, ', 'um, '],
];
const reasons = [
  ...[
    'I just got home. ',
    "It's getting late. ",
    "I'm in a hurry. ",
    'Good morning! ',
    'Hi there. ',
    'Thanks for that. ',
  ],
  ...[
    "I can't do it myself right now. ",
    'My hands are full. ',
    'Nice to see you. ',
    'Quick question. ',
    'Guests are coming. ',
  ],
  ...[
    "Let's go on. ",
    'Before I forget. ',
    'I had a long day. ',
    "You're the best. ",
    'Sorry to bother you. ',
    'One thing. ',
  ],
];
const after = [
  ...[
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
  ],
  ...[' right away', ', ok', ', would you', ', my friend', ' when you have a moment', ', quickly'],
];
const questions = new Set(
  `can could would will what what's how how's is are do does did where where's when when's who who's which why should shall
  any am was were has have isn't don't`.split(/\s+/),
);

const firstWord = (text) => text.split(/[\s,:]/, 1)[0].toLowerCase();

/** A request (text without its ends) as somebody would write it. */
export function dressed({ text, opensWithValue = false }, chance) {
  let said = text.trim();
  let question = questions.has(firstWord(said));
  const command = !opensWithValue && !notCommands.has(firstWord(said));
  let opens = opensWithValue;
  if (command && chance.often(0.25)) {
    const manner = chance.pick(before);
    said = manner + said;
    question ||= /^(can|could|would)/.test(manner);
  } else if (command && chance.often(0.12)) said += chance.pick(after);
  if (chance.often(0.08)) {
    said = chance.pick(openers) + said;
    opens = false;
  }
  const reason = chance.often(0.05) ? chance.pick(reasons) : '';
  return finished(said, { chance, question, opens, reason });
}

/** A text with the capital and the mark that it ends in, or without. */
export function finished(text, { chance, question = questions.has(firstWord(text)), opens = false, reason = '' }) {
  const upper = reason || (!opens && chance.often(0.75));
  const written = reason + (upper && !opens ? capitalised(text) : text);
  if (/[.!?]$/.test(written)) return written;
  const mark = question ? chance.pick(['?', '?', '?', '']) : chance.pick(['.', '.', '.', '', '', '', '!']);
  return written + mark;
}
