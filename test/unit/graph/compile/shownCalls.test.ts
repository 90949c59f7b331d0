import { expect, it } from 'vitest';
import { showsCalls } from '../../../../src/graph/compile/template.ts';

it.each([
  'No.',
  '{{user_message}}',
  '{{player}} {{arguments}} {{#name}}{{player}}{{/name}}',
  '{{#tool_calls}}Done.{{/tool_calls}}',
  '{{^tool_calls}}{{player}}{{/tool_calls}}',
  '{{#tool_results}}{{#ok}}{{content}} {{content.degrees}}{{/ok}}{{/tool_results}}',
  '{{tool_results.0.content}} {{tool_results.0.content.degrees}} {{{insights.0.tool}}}',
  '{{#insights}}{{tool}}{{#missing}}{{significance}}{{/missing}}{{/insights}}',
  '{{#guidelines}}{{name}}: {{action}}{{/guidelines}} {{route}}',
])('a line shows nothing of calls: %s', (line) => {
  expect(showsCalls(line)).toBe(false);
});

it.each([
  '{{tool_calls}}',
  '{{{tool_results}}}',
  '{{&insights}}',
  '{{.}}',
  '{{tool_calls.0.name}}',
  '{{tool_results.0}}',
  '{{tool_results.0.arguments.content}}',
  '{{#tool_calls.0.arguments}}{{tool_results.0.content}}{{/tool_calls.0.arguments}}',
  '{{#tool_calls}}{{name}}{{/tool_calls}}',
  '{{#tool_calls}}{{arguments.item}}{{/tool_calls}}',
  '{{#tool_calls}}{{.}}{{/tool_calls}}',
  '{{#tool_calls}}{{#arguments}}{{content}}{{/arguments}}{{/tool_calls}}',
  '{{#tool_calls.0.arguments}}{{content}}{{/tool_calls.0.arguments}}',
  '{{#tool_results}}{{#ok}}{{arguments.item}}{{/ok}}{{/tool_results}}',
  '{{#tool_results}}{{^ok}}{{name}}{{/ok}}{{/tool_results}}',
  '{{#insights}}{{#invalid}}{{message}}{{/invalid}}{{/insights}}',
  '{{^player}}{{#tool_calls}}{{name}}{{/tool_calls}}{{/player}}',
])('a line may show what a model wrote in a call: %s', (line) => {
  expect(showsCalls(line)).toBe(true);
});
