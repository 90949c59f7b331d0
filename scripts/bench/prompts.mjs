// Texts to measure with, and how chatml lays them out: said here once more, so that the benchmark counts for itself.

const people = ['keeper', 'miller', 'captain', 'smith', 'widow', 'priest', 'hunter', 'baker', 'weaver', 'ferryman'];
const deeds = ['found', 'lost', 'sold', 'mended', 'painted', 'buried', 'carried', 'counted', 'traded', 'hid'];
const things = [
  'a lantern',
  'the old bell',
  'nine ropes',
  'a silver key',
  'the broken oar',
  'a sack of flour',
  'two maps',
];
const places = ['by the harbour', 'under the bridge', 'in the north tower', 'at the mill', 'behind the inn'];

/** Sentences that are different for every number: about `words` words of plain English. */
export function story(number, words) {
  let state = (number * 2654435761 + 97) >>> 0;
  const pick = (list) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) >>> 0;
    return list[state % list.length];
  };
  const sentences = [];
  for (let count = 0; count < words; count += 10) {
    sentences.push(`On day ${number + count} the ${pick(people)} ${pick(deeds)} ${pick(things)} ${pick(places)}.`);
  }
  return sentences.join(' ');
}

/** One message as chatml writes it. */
export const framed = (role, text) => `<|im_start|>${role}\n${text}<|im_end|>\n`;

/** What stands before the model's answer. */
export const opening = '<|im_start|>assistant\n';

/** A prompt of a system message and a dialog of texts, the user's first. */
export function promptOf(system, ...texts) {
  const head = system === '' ? '' : framed('system', system);
  return head + texts.map((text, at) => framed(at % 2 === 0 ? 'user' : 'assistant', text)).join('') + opening;
}
