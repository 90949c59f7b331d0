// Invented words, so that the model learns to copy instead of learning lists by heart; and numbers in words.

const onsets =
  'b br ch d dr f fl g gr h j k kl l m n p pl qu r s sh sk st t tr th v w z bl cr gl kr sn sp sw vr x'.split(' ');
const vowels = 'a e i o u ai ea oo y ou'.split(' ');
const codas = ['', '', ...'n r l s k m t x nd rk sh p lt ng b d g v z ck st'.split(' ')];

/** A word of one to three made-up syllables. */
export function inventedWord(rng) {
  const syllable = () => rng.pick(onsets) + rng.pick(vowels) + rng.pick(codas);
  return Array.from({ length: rng.pick([1, 2, 2, 2, 3]) }, syllable).join('');
}

/** A text with its first letter as a capital. */
export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const ones =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const tens = ',,twenty,thirty,forty,fifty,sixty,seventy,eighty,ninety'.split(',');

/** A whole number below a hundred in words; others in digits. */
export function inWords(number) {
  if (!Number.isInteger(number) || number < 0 || number > 99) return String(number);
  if (number < 20) return ones[number];
  const [ten, one] = [tens[Math.floor(number / 10)], number % 10];
  return one === 0 ? ten : `${ten}-${ones[one]}`;
}
