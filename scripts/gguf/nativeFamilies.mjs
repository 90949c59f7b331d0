// Tiny GGUF models whose chat templates, of our own wording, write tool calls in notations of their own.
import { tinyGguf } from './gguf.mjs';
import { byteLevelVocab } from './vocabulary.mjs';

const turns = ['<|end|>', '<|system|>', '<|user|>', '<|assistant|>', '<|tool|>'];

/** A chat template with the text of the calls of a message: a Jinja program that sees `calls`. */
const withCalls = (calls) =>
  [
    '{%- if tools %}{{ "<|system|>" }}{% for tool in tools %}{{ tool.function | tojson + "\\n" }}{% endfor %}{{ "<|end|>" }}',
    '{%- endif %}{% for message in messages %}{{ "<|" + message.role + "|>" + (message.content or "") }}',
    `{%- set calls = message.tool_calls or [] %}${calls}{{ "<|end|>" }}{% endfor %}`,
    '{%- if add_generation_prompt %}{{ "<|assistant|>" }}{% endif %}',
  ].join('\n');

const each = (call) =>
  `{% for call in calls %}{% set name = call.function.name %}{% set given = call.function.arguments %}${call}{% endfor %}`;

const taggedLines = each(
  '{{ "<act>\\n<do=" + name + ">\\n" }}{% for key, value in given | items %}{{ "<with=" + key + ">\\n" }}' +
    '{{ value if value is string else value | tojson }}{{ "\\n</with>\\n" }}{% endfor %}{{ "</do>\\n</act>" }}',
);

const taggedPairs = each(
  '{{ "<act>" + name }}{% for key, value in given | items %}{{ "\\n<k>" + key + "</k><v>" }}' +
    '{{ value if value is string else value | tojson }}{{ "</v>" }}{% endfor %}{{ "\\n</act>" }}',
);

const namedJson = each('{{ "<act>" + name + "<with>" + given | tojson + "</act>" }}');

/** A value with bare keys and marks around strings. */
const keyValueMacro =
  '{%- macro spell(value) %}{% if value is string %}{{ "<q>" + value + "<q>" }}' +
  '{% elif value is mapping %}{{ "{" }}{% for key, item in value | items %}{{ key + ":" + spell(item) }}' +
  '{% if not loop.last %}{{ "," }}{% endif %}{% endfor %}{{ "}" }}' +
  '{% elif value is iterable %}{{ "[" }}{% for item in value %}{{ spell(item) }}' +
  '{% if not loop.last %}{{ "," }}{% endif %}{% endfor %}{{ "]" }}' +
  '{% else %}{{ value | tojson }}{% endif %}{% endmacro %}';

const keyValue =
  keyValueMacro +
  each(
    '{{ "<act>call:" + name + "{" }}{% for key, value in given | items %}{{ key + ":" + spell(value) }}' +
      '{% if not loop.last %}{{ "," }}{% endif %}{% endfor %}{{ "}</act>" }}',
  );

const python =
  '{% if calls %}{{ "<act>[" }}' +
  each(
    '{{ name + "(" }}{% for key, value in given | items %}{{ key + "=" }}' +
      '{{ "True" if value is true else "False" if value is false else "None" if value is none else value | tojson }}' +
      '{% if not loop.last %}{{ ", " }}{% endif %}{% endfor %}{{ ")" }}{% if not loop.last %}{{ ", " }}{% endif %}',
  ) +
  '{{ "]</act>" }}{% endif %}';

/**
 * @typedef {object} NativeFamily
 * @property {string} chatTemplate
 * @property {readonly string[]} marks Marks of the notation that are tokens of the vocabulary.
 * @property {boolean} endsStrings Whether one token ends a string, so that strings without a largest length come to an end.
 */

/**
 * The families by the name of their notation.
 * @type {ReadonlyMap<string, NativeFamily>}
 */
export const nativeFamilies = new Map([
  ['tagged lines', { chatTemplate: withCalls(taggedLines), marks: ['<act>', '</act>'], endsStrings: false }],
  [
    'tagged pairs',
    {
      chatTemplate: withCalls(taggedPairs),
      marks: ['<act>', '</act>', '<k>', '</k>', '<v>', '</v>'],
      endsStrings: true,
    },
  ],
  ['tagged pairs in letters', { chatTemplate: withCalls(taggedPairs), marks: [], endsStrings: false }],
  ['key-value', { chatTemplate: withCalls(keyValue), marks: ['<act>', '</act>', '<q>'], endsStrings: true }],
  ['Python calls', { chatTemplate: withCalls(python), marks: ['<act>', '</act>'], endsStrings: true }],
  ['named JSON', { chatTemplate: withCalls(namedJson), marks: ['<act>', '</act>'], endsStrings: true }],
]);

/**
 * Creates a model of a family, as the bytes of a GGUF file.
 * @param {string} name
 * @returns {Buffer}
 * @throws {RangeError} For an unknown family.
 */
export function nativeGguf(name) {
  const family = nativeFamilies.get(name);
  if (!family) throw new RangeError(`there is no family "${name}"; there are ${[...nativeFamilies.keys()].join(', ')}`);
  const vocab = byteLevelVocab({ pre: 'qwen2', control: turns, userDefined: family.marks, eos: 0 });
  return tinyGguf({ name: `tiny ${name}`, vocab, chatTemplate: family.chatTemplate });
}
