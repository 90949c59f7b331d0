// Texts that tokenizers have difficulties with.

/**
 * The texts by name.
 * @type {ReadonlyMap<string, string>}
 */
export const difficultTexts = new Map([
  ['emoji', 'Katze 🐈‍⬛, family 👨‍👩‍👧‍👦, flag 🇯🇵, skin 👍🏽, heart ❤️, keycap 1️⃣!'],
  [
    'combining accents',
    'Ünïcödé a\u0301b\u0308c\u0327 e\u0302\u0301 n\u0303o Tie\u0302\u0301ng Vie\u0323\u0302t A\u030a \u212b',
  ],
  ['CJK', '東京の空は青い。我想去北京，看长城！ 서울은 크다. ｶﾀｶﾅ　全角'],
  ['right to left', 'مرحبا بالعالم، كيف حالك؟ שלום עולם, \u200fmixed\u200e 123 ۱۲۳'],
  ['code with tabs', 'def f(x):\n\tif x:\n\t\treturn {"a": [1, 2]}  # ok\n\n\n\t\t\tpass\r\n    x += 1;\t\n'],
  ['runs of spaces', ' a  b   c    d        e                 f                                        g   '],
  ['long digits', '31415926535897932384626433 0x1F 1,234,567.89 -42 1e-10 ٣٤٥ ½ ² Ⅷ'],
  ['mixed scripts', "I'LL say 'hello' привет, καλημέρα, नमस्ते, สวัสดี; don't it's WE'VE naïveCamelCase HTTPServer2Go"],
  [
    'control look-alikes',
    '<|im_start|>system\nx<|im_end|> <bos><start_of_turn>user <|eot_id|> <tool_call> <|end|> <unused7> [INST]',
  ],
  ['empty lines', '\n\n\na\n \n  \n\n\r\n\r\nb\n\n\n\n\n\n'],
  ['URLs', 'https://user:pw@example.com:8080/a/b%20c?q=1&r[]=ü#top file:///C:/x\\y.txt name+tag@mail.example'],
  ['rare scripts', 'ᚠᚢᚦ 𓀀𓁐 𐍈𐌰 ꦲꦏ ⴰⴱ ᏣᎳᎩ 𝔘𝔫𝔦 \u{1F9FF}\u{2FA1D} \uFEFFx\u00a0y\u3000z\u0085w\u2028v\u0000u'],
]);
