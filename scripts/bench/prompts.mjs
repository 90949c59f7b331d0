// Prompts of the benchmark: pseudo-random texts, and the chatml template, written here again so that the benchmark counts
// tokens independently of the server.

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

/** About `words` words of plain English, different for every `number`. */
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

/** The shortest such text of at least `tokens` tokens by `count`. */
export function storyOfTokens(number, tokens, count) {
  for (let words = 10; ; words += 10) {
    const text = story(number, words);
    if (count(text) >= tokens) return text;
  }
}

/** One message in chatml. */
export const chatmlMessage = (role, text) => `<|im_start|>${role}\n${text}<|im_end|>\n`;

/** The header before the model's answer (the generation prompt). */
export const assistantHeader = '<|im_start|>assistant\n';

/** A prompt of a system message (or '') and alternating texts of user and assistant. */
export function chatmlPrompt(system, ...texts) {
  const head = system === '' ? '' : chatmlMessage('system', system);
  return (
    head + texts.map((text, at) => chatmlMessage(at % 2 === 0 ? 'user' : 'assistant', text)).join('') + assistantHeader
  );
}
