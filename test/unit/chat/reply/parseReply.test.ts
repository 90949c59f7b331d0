import { describe, expect, it } from 'vitest';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';
import { formats } from '../../../../src/chat/formats/index.ts';
import { formatsOf } from '../../../../src/chat/dialect/nativeFormat.ts';
import { parseReply, type ParsedReply, type ParseReplyOptions } from '../../../../src/chat/reply/parseReply.ts';
import type { Tool } from '../../../../src/chat/tool.ts';
import { namedJsonTemplate } from '../../../helpers/dialectTemplates.ts';
import { harmonyMarks, responseMarks } from '../../../helpers/replyMarks.ts';

const { toolDialect, replyMarks } = probeChatTemplate(namedJsonTemplate, { bos: '', eos: '' });
const lamp: Tool = {
  name: 'lamp',
  description: '',
  parameters: { type: 'object' },
  consequential: false,
  notes: new Map(),
};

/** Parses the reply of a model whose calls are `<act>name<with>{...}</act>` and whose reasoning is in `<muse>`. */
function parse(text: string, options: ParseReplyOptions = {}, name = 'native'): ParsedReply {
  const format = formatsOf(toolDialect, formats).get(name);
  if (!format) throw new Error(`there is no format ${name}`);
  return parseReply(text, format, { marks: replyMarks, ...options });
}

const callOf = (name: string): string => `<act>${name}<with>{"on": true}</act>`;
const namesOf = ({ calls }: ParsedReply): readonly string[] => calls.map(({ name }) => name);

describe('a reply', () => {
  it('has calls, reasoning and an answer', () => {
    const reply = parse(`<muse>a lamp?</muse>\nAt once. ${callOf('lamp')}`);
    expect(namesOf(reply)).toEqual(['lamp']);
    expect(reply).toMatchObject({ content: 'At once.', reasoning: 'a lamp?', truncated: false });
  });

  it('reports a call in its reasoning where nothing follows', () => {
    const tools = [lamp];
    const unread = [{ text: callOf('lamp'), reason: 'it is within the reasoning, and nothing follows' }];
    expect(parse(`<muse>${callOf('lamp')}</muse>`, { tools })).toMatchObject({ calls: [], answer: '', unread });
    expect(parse(`<muse>${callOf('lamp')}</muse>Done.`, { tools })).toMatchObject({ calls: [], unread: [] });
    expect(parse(`<muse>${callOf('door')}</muse>`, { tools })).toMatchObject({ calls: [], unread: [] });
    expect(parse(`<muse>a lamp?</muse>`, { tools })).toMatchObject({ calls: [], unread: [] });
  });

  it.each([
    'I should light the lamp now.\nCALL',
    'First {this}, then I call CALL and wait for it.',
    'Two of them: CALL and after that CALL as well.',
    'CALL That is what I will write now.',
  ])('reports a call without a mark next to prose of its reasoning, where nothing follows: %s', (reasoning) => {
    const call = '{"name": "lamp", "arguments": {"on": true}}';
    const reply = parse(`<muse>${reasoning.replaceAll('CALL', call)}</muse>\n`, { tools: [lamp] });
    const reason = 'it is within the reasoning, and nothing follows';
    expect(reply).toMatchObject({ calls: [], answer: '' });
    expect(reply.unread).toEqual((reasoning.match(/CALL/g) ?? []).map(() => ({ text: call, reason })));
    const other = reasoning.replaceAll('CALL', call.replace('lamp', 'door'));
    expect(parse(`<muse>${other}</muse>`, { tools: [lamp] }).unread).toEqual([]);
  });

  it('begins with what the prompt has opened', () => {
    const reply = parse(`not ${callOf('door')} </muse>${callOf('lamp')}`, { opened: '<muse>\n' });
    expect(namesOf(reply)).toEqual(['lamp']);
    expect(reply).toMatchObject({ content: '', reasoning: `not ${callOf('door')}` });
  });

  it('keeps its reasoning in the answer where that is wanted', () => {
    const reply = parse(`a lamp?</muse>Yes.${callOf('lamp')}`, { opened: '<muse>', keepReasoning: true });
    expect(reply).toMatchObject({ content: '<muse>a lamp?</muse>Yes.', reasoning: '' });
    expect(namesOf(reply)).toEqual(['lamp']);
  });

  it('has the answer without the marks around it', () => {
    const text = '<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>Hi.<|END_RESPONSE|>';
    expect(parse(text, { marks: responseMarks })).toMatchObject({ content: 'Hi.', reasoning: 'a' });
  });

  it('has no answer in a message to a recipient that is no offered tool', () => {
    const message = '<|channel|>analysis<|message|>a<|end|><|start|>assistant to=shell.run<|channel|>commentary';
    const reply = parse(`${message}<|message|>ls`, { marks: harmonyMarks });
    expect(reply).toMatchObject({ calls: [], content: '', answer: '', reasoning: 'a' });
    const unread = '<|start|>assistant to=shell.run<|channel|>commentary<|message|>ls';
    expect(reply.unread).toEqual([{ text: unread, reason: 'the message to shell.run is no call that can be read' }]);
  });
});

describe('a message to a tool that is no call', () => {
  const start = '<|channel|>analysis<|message|>a<|end|><|start|>assistant';
  const final = '<|end|><|start|>assistant<|channel|>final<|message|>It is on.';

  it.each([
    ['is cut off in its header', `${start} to=functions.lamp<|channel|>comm`, ''],
    ['is cut off in its recipient', `${start} to=functions.la`, ''],
    ['is cut off in its arguments', `${start} to=functions.lamp<|channel|>commentary<|message|>{"on": tr`, ''],
    ['is malformed', `${start} to=functions.lamp<|channel|>commentary<|message|>{on}${final}`, 'It is on.'],
  ])('is unread, and no part of the answer: %s', (_, text, answer) => {
    const reply = parse(text, { marks: harmonyMarks });
    expect(reply).toMatchObject({ calls: [], answer, reasoning: 'a' });
    expect(reply.unread.map((call) => call.text)).toEqual([
      expect.stringMatching(/^<\|start\|>assistant to=functions\.la/),
    ]);
  });

  it('is none where it is to the assistant, or has no recipient', () => {
    for (const to of ['', ' to=assistant'])
      expect(parse(`${start}${to}<|channel|>commentary<|message|>Hm.${final}`, { marks: harmonyMarks })).toMatchObject({
        unread: [],
        content: 'Hm.It is on.',
      });
  });
});

describe('reasoning that is never closed', () => {
  const opened = '<muse>';

  it('ends before the calls that the reply ends with', () => {
    const reply = parse(`both, then${callOf('lamp')}\n${callOf('door')}\n`, { opened });
    expect(namesOf(reply)).toEqual(['lamp', 'door']);
    expect(reply).toMatchObject({ content: '', reasoning: 'both, then' });
  });

  it.each([
    ['more text follows', `${callOf('lamp')} or ${callOf('door')} perhaps`],
    ['the call is cut off', '<act>lamp<with>{"on": tr'],
  ])('hides a call where %s', (_, text) => {
    expect(parse(text, { opened })).toMatchObject({ calls: [], content: '', reasoning: text });
  });

  it('hides the calls of a format without a mark of its own', () => {
    const text = '{"name": "lamp", "parameters": {}}';
    expect(parse(text, { opened }, 'llama3')).toMatchObject({ calls: [], content: '' });
  });
});

describe('a reply that has to be JSON', () => {
  const answer = '{"name": "lamp"}';
  const fenced = `\`\`\`json\n${answer}\n\`\`\``;

  it.each([
    ['in a code fence', fenced],
    ['in a code fence after reasoning', `<muse>a</muse>${fenced}<|im_end|>`],
    ['as it is', answer],
  ])('has the JSON as its answer: %s', (_, text) => {
    expect(parse(text, { isJson: true }, 'chatml')).toMatchObject({ calls: [], content: answer });
  });

  it('keeps a code fence with other text', () => {
    for (const text of [`Here: ${fenced}`, `${fenced}\nDone.`, '```json\n{"name":\n```'])
      expect(parse(text, { isJson: true }).content).toBe(text);
  });

  it('can still call the tools that were offered', () => {
    expect(namesOf(parse(callOf('lamp'), { isJson: true, tools: [lamp] }))).toEqual(['lamp']);
    expect(parse(callOf('lamp'), { isJson: true })).toMatchObject({ calls: [], content: callOf('lamp') });
  });
});

it('is parsed in linear time', () => {
  for (const piece of ['<muse>', '<act>', '<act>lamp<with>{', '```json\n', '</muse>'])
    expect(parse(piece.repeat(16_000), { opened: '<muse>', isJson: true }).calls).toEqual([]);
});
