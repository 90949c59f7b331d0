import { mockEngine, type MockEngine } from '../../src/inference/mock/engine.ts';
import { readMockScript } from '../../src/inference/mock/script.ts';
import type { ServerFrameBodies, ToolResult } from '../../src/protocol/frames.gen.ts';
import type { ScriptLine } from './heldEngine.ts';
import type { TestClient } from './server.ts';

/** A call as chatml writes it. */
export const chatmlCall = (name: string, args: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

/** A mock engine with a script, for tests that look at its prompts. */
export const scriptedEngine = (script: readonly ScriptLine[]): MockEngine =>
  mockEngine({ script: readMockScript(JSON.stringify(script), 'script') });

/** The last prompt of a mock engine as lines of text. */
export const lastPrompt = ({ prompts }: MockEngine): readonly string[] =>
  prompts.at(-1)?.messages.map(({ role, text }) => `${role}: ${text}`) ?? [];

const city = { name: 'city', type: 'string' };

/** Asks for the weather and for people, waits for the results, and answers. With `loops` it asks again after results. */
export const weather = (params: object = {}, { loops = false } = {}) => ({
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: {
        tools: [
          { name: 'get_weather', description: 'Tells the weather.', parameters: [city] },
          {
            name: 'find_person',
            description: 'Tells where a person is.',
            parameters: [{ name: 'who', type: 'string' }],
          },
        ],
        await_results: true,
        ...params,
      },
      exits: { tool_called: loops ? 'detect' : 'answer', no_tool_called: 'answer', no_results: 'sorry' },
    },
    answer: { type: 'Generate' },
    sorry: { type: 'CannedResponse', params: { inline_strings: ['I cannot reach it.'] } },
  },
});

type Result = Partial<ServerFrameBodies['toolCallNotification'] & ToolResult>;

/** A result with defaults, as submitToolResults takes it. */
export const result = (given: Result): ToolResult => {
  const { callId = '', ok = true, content = '', lifespan = 'TURN', metadataJson = '', control = null } = given;
  return { callId, ok, content, lifespan, metadataJson, control };
};

/** Waits until a request has so many notifications. Returns them in order. */
export async function notifications(
  client: TestClient,
  requestId: number,
  count: number,
): Promise<readonly ServerFrameBodies['toolCallNotification'][]> {
  const calls = () =>
    client.received.flatMap((frame) =>
      frame.requestId === requestId && frame.body === 'toolCallNotification' ? [frame.toolCallNotification] : [],
    );
  await client.waitFor(() => calls().length >= count);
  return calls();
}
