import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Token } from 'node-llama-cpp';
import { families } from '../../scripts/tiny/families.mjs';
import type { Message, Prompt, ToolBlock, ToolDefinition } from '../../src/dialog.ts';
import { formats } from '../../src/tools/formats/index.ts';
import { tinyModels, type Tiny } from './tiny.ts';

interface OfficialMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: object };
  }[];
}

interface OfficialPrompt {
  readonly family: string;
  readonly format: string;
  readonly case: string;
  readonly messages: readonly OfficialMessage[];
  readonly tools: readonly ToolDefinition[];
  readonly text: string;
}

const cases = JSON.parse(
  readFileSync(new URL('../cases/prompts.json', import.meta.url), 'utf8'),
) as readonly OfficialPrompt[];

let models: Awaited<ReturnType<typeof tinyModels>>;
beforeAll(async () => void (models = await tinyModels([...families.keys()])), 60_000);
afterAll(() => models.close());

/** Tools as a node puts them into its prompts. */
function block(format: string, definitions: readonly ToolDefinition[]): ToolBlock {
  const spoken = formats.get(format);
  if (!spoken) throw new Error(`there is no format ${format}`);
  const tools = definitions.map(({ function: { name, description, parameters } }) => {
    return { name, description, parameters: { type: 'object' as const, ...parameters } };
  });
  return { format, definitions, place: spoken.place, text: spoken.render(tools) };
}

function messageOf({
  role,
  content,
  name = '',
  tool_call_id: callId = '',
  tool_calls: calls,
}: OfficialMessage): Message {
  if (role === 'tool') {
    return { role: 'user', text: `${name} gave ${content}`, exchange: { kind: 'result', callId, name, content } };
  }
  if (!calls) return { role, text: content };
  const made = calls.map(({ id, function: call }) => ({ id, ...call }));
  return { role, text: 'a call', exchange: { kind: 'calls', text: content, calls: made } };
}

const promptOf = ({ format, messages, tools }: OfficialPrompt): Prompt => ({
  messages: messages.map(messageOf),
  ...(tools.length > 0 && { tools: block(format, tools) }),
});

const render = ({ template }: Tiny, prompt: Prompt): string => template.render(prompt).text;
const tokensOf = ({ template }: Tiny, prompt: Prompt): Token[] => template.tokens(template.render(prompt));

describe('an official prompt', () => {
  it.each(cases.map((one) => [one.family, one.case, one] as const))('of %s (%s) is met', (family, _, official) => {
    const tiny = models.of(family);
    expect(render(tiny, promptOf(official))).toBe(official.text);
  });

  it.each(cases.map((one) => [one.family, one.case, one] as const))(
    'of %s (%s) has the official tokens',
    (family, _, official) => {
      const { weights, vocabulary } = models.of(family);
      const tokens = tokensOf(models.of(family), promptOf(official));
      expect(tokens).toEqual(weights.tokenize(official.text, true));
      const control = tokens.filter((token) => vocabulary.isControl(token));
      const spelled = vocabulary.controlStrings.find(official.text);
      expect(control.map((token) => weights.detokenize([token], true))).toEqual(
        spelled.map(({ start, end }) => official.text.slice(start, end)),
      );
    },
  );
});
