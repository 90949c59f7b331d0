import { expect, it } from 'vitest';
import { quoteBareWords } from '../../../../src/chat/json/lenientParser.ts';

it.each([
  ['{"amount": money}', '{"amount": "money"}'],
  ['{name: "f", arguments: {a: 1, b: red}}', '{"name": "f", "arguments": {"a": 1, "b": "red"}}'],
  ['[red , {x:y}]', '["red" , {"x":"y"}]'],
  ['{"a": true, "b": None, "c": -1}', '{"a": true, "b": None, "c": -1}'],
  ['{"a": "b: c, d", "e": "\\", f: g"}', '{"a": "b: c, d", "e": "\\", f: g"}'],
  ['{"a": two words}', '{"a": two words}'],
  ['{"a": 5 coins, "b": +5 , "c": <amount>}', '{"a": "5 coins", "b": 5 , "c": "<amount>"}'],
  ['{"a": [5 coins], "b": + 5, "c": 5 gold coins}', '{"a": [5 coins], "b": + 5, "c": 5 gold coins}'],
  ['{“a”: “b”, "c": "“d”"}', '{"a": "b", "c": "“d”"}'],
  ['{"a": 5, "b": 1.5e3, "c": [1, 2]}', '{"a": 5, "b": 1.5e3, "c": [1, 2]}'],
  ['{"a": "open', '{"a": "open'],
])('%s has its words in quotes', (text, quoted) => {
  expect(quoteBareWords(text)).toBe(quoted);
});
