// normalize() takes time in the square of a run of marks: of more than 30, the rest is no text.
const excessMarks = /(?<=\p{M}{30})\p{M}+/gu;
// Tatweel, the points of Hebrew and Arabic, and the stress of a Cyrillic vowel, which few write, and none reads as a letter.
const pointing = /(?:\u0640|(?=[\u0591-\u05c7\u0610-\u06ed\u08ca-\u08ff])\p{M}|(?<=[аеёиоуыэюяіїєѣѵүөә])\u0301)+/giu;

// Most texts are: they have nothing to fold.
// oxlint-disable-next-line no-control-regex
export const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/**
 * Folds a text, so that texts that look alike are compared and matched as the same: composed and decomposed letters, full
 * width and other forms of a character (NFKC), without invisible characters (zero width, soft hyphens, variation
 * selectors), vowel points, tatweel and stress marks, each kind of space as a space, each kind of line break as `\n`. Case,
 * accents, and the number of spaces stay.
 */
export const foldText = (text: string): string =>
  isAscii(text)
    ? text
    : text
        // Double negations are matched several times as fast.
        .replaceAll(/[^\P{Default_Ignorable_Code_Point}]+/gu, '')
        .replaceAll(excessMarks, '')
        .normalize('NFKC')
        .replaceAll(pointing, '')
        .normalize('NFC')
        .replaceAll(/[\u0085\u2028\u2029]/g, '\n')
        .replaceAll(/[^\P{Zs} ]/gu, ' ');

// Each letter and digit of ASCII, with the letters of other scripts that look like it: by scripts/confusables.mjs from the
// confusables of Unicode (UTS #39, version 17.0.0; © Unicode, Inc., licence Unicode-3.0).
const lookAlikes = `
2ꝚƧϨꙄ 3ꞫȜƷꝪⲜⳄⳌЗӠ 4Ꮞ 5Ƽ 6ⳓⳒϬⳜбᏮ 8ȣȢ 9ꝮⳋⳊ AΑАᎪꓮ BꞴΒⲂВᏴꓐ CⲤСᏟꓚ DᎠꓓ EΕЕⴹᎬꓰ FꞘϜꓝ GԌᏀᏳꓖ HΗⲎНᎻꓧ IƖΙⲒІӀ JꞲͿЈᎫꓙ KΚⲔКᏦꓗ
LⳐᏞꓡ MΜϺⲘМᎷꓟ NΝⲚꓠ OΟⲞОՕⵔꓳ PΡⲢⳎРᏢꓑ Qⵕ RƦᎡᏒꓣ SЅՏᏕᏚꓢ TΤⲦТᎢꓔ UՍꓴ VѴⴸᏙꓦ WԜᎳᏔꓪ XꞳΧⲬХⵝꓫ YΥⲨУҮᎩᎽꓬ ZΖᏃꓜ aɑαа bƄЬᏏ cᴄⲥсꮯ
dԁᏧꓒ eꬲеҽ fꬵꞙƒẝք gɡᶃƍց hһհᏂ iıɪɩιⲓіꙇւꭵᎥ jϳј lǀӏⵏꓲ nոռ oᴏᴑꬽοσⲟϭоჿօ pþƿρϸⲣⳏр qԛգզ rꭇꭈᴦⲅгꮁ sꜱƽѕꮪ uꞟᴜꭎꭒʋυս vᴠνѵꮩ
wɯᴡⲽѡшԝաꮃ xх yɣᶌʏỿꭚγⲩуүყ zᴢꮓ`;

const asciiOf = new Map(
  lookAlikes.split(/\s/).flatMap(([letter = '', ...others]) => others.map((other) => [other, letter] as const)),
);

/** Folds a text as `foldText` does, and letters of other scripts that look like one of ASCII to that. */
export const foldLookAlikes = (text: string): string =>
  foldText(text)
    .normalize('NFD')
    .replaceAll(/[^\0-\x7f]/g, (character) => asciiOf.get(character) ?? character)
    .normalize('NFC');

/** A text without the marks of Latin, Greek and Cyrillic letters, and of digits. */
export const withoutAccents = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\d])\p{M}+/gu, '')
    .normalize('NFC');
