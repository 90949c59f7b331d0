import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { categories, readQuestions } from '../../scripts/evals/bfcl/questions.mjs';
import { weightsFile } from '../../scripts/weights.mjs';
import { connect, type AgentHandle, type Client } from '../../src/client/index.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { isSkipped } from '../helpers/requirements.mjs';
import { startTestServer } from '../helpers/server.ts';

/** What the formats of JSON Schema say is not constrained. */
const ajv = new Ajv({ strict: false, validateFormats: false });

type Question = Awaited<ReturnType<typeof readQuestions>>[number];

const sizeOf = ({ tools, message }: Question): number => JSON.stringify(tools).length + message.length;

/** Whether the schema of a parameter has such a part. */
const has =
  (part: string) =>
  ({ tools }: Question): boolean =>
    tools.some((tool: { readonly parameters: { readonly properties: unknown } }) =>
      JSON.stringify(tool.parameters.properties).includes(part),
    );

/** What declarations differ in, the rarest first. */
const kinds = [
  ...['"items":{"type":"object"', '"type":"object"', '"type":"array"', '"type":"boolean"', '"enum":'].map(has),
  ...['number', 'integer', 'string'].map((type) => has(`"type":"${type}"`)),
  ({ tools }: Question): boolean => tools.length > 1,
];

describe.skipIf(isSkipped('callWeights'))(
  'strict calls of the Berkeley leaderboard, with the weights of SmolLM2',
  () => {
    let folder = '';
    let server: TurngraphServer;
    let client: Client;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'turngraph-weights-'));
      const file = await weightsFile('smollm2');
      const variant = { engine: 'llama-cpp', local_path: dirname(file), files: [basename(file)], context_size: 4096 };
      const models = [{ name: 'smollm2', variants: [variant] }];
      await writeFile(join(folder, 'models.json'), JSON.stringify({ models, extends: false }));
      server = await startTestServer({ catalogue: join(folder, 'models.json'), cache: join(folder, 'cache') });
      client = await connect(server.url);
    });
    afterAll(async () => {
      await client.close();
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    });

    /** An agent with a ToolCall node for the tools of each question. */
    const open = (questions: readonly Question[]): Promise<AgentHandle> => {
      const base = { model_name: 'smollm2', strict: true, tool_choice: 'required', max_tokens_per_call: 100 };
      const params = questions.map(({ tools }) => ({ ...base, tools, sampling: { temperature: 0 } }));
      const nodes = params.map((each, index) => [`call${index}`, { type: 'ToolCall', params: each }] as const);
      return client.createAgent({ graph: { start_node: 'call0', nodes: Object.fromEntries(nodes) } });
    };

    /** "": a graph with these tools is accepted. */
    const refusalOf = async (questions: readonly Question[]): Promise<string> => {
      try {
        await using _ = await open(questions);
        return '';
      } catch (error) {
        return String(error);
      }
    };

    it('are possible with all declarations, but three that no value fits', async () => {
      const names = [...Object.keys(categories), 'live_relevance'];
      const questions = (await Promise.all(names.map((name) => readQuestions(name)))).flat();
      const all = questions.filter(({ tools }) => tools.length > 0);
      // Many questions of the live categories are about the same tools.
      const different = [...new Map(all.map((question) => [JSON.stringify(question.tools), question])).values()];
      const refused = new Map<string, string>();
      for (let start = 0; start < different.length; start += 50) {
        const some = different.slice(start, start + 50);
        if ((await refusalOf(some)) === '') continue;
        for (const question of some) refused.set(JSON.stringify(question.tools), await refusalOf([question]));
      }
      const refusals = all.flatMap(({ id, tools }) => {
        const refusal = refused.get(JSON.stringify(tools)) ?? '';
        return refusal === '' ? [] : [`${id}: ${refusal}`];
      });
      const noValue = expect.stringContaining(
        '.professional_group_id.enum has no value that could be given',
      ) as unknown;
      expect(refusals).toEqual([
        expect.stringMatching(/^parallel_29: .*population.required names "adults", which is not declared/),
        noValue,
        noValue,
      ]);
      expect(all.length - refusals.length).toBe(3484);
    });

    it('fit their schemas, unless they are cut off', async () => {
      const all = (await Promise.all(Object.keys(categories).map((name) => readQuestions(name)))).flat();
      const shortestFirst = all.toSorted((one, other) => sizeOf(one) - sizeOf(other));
      const questions: Question[] = [];
      // The shortest of each kind: most of the time is that of the prompts.
      for (const isOfKind of kinds)
        if (!questions.some(isOfKind)) questions.push(...shortestFirst.filter(isOfKind).slice(0, 1));
      expect(kinds.filter((isOfKind) => !questions.some(isOfKind))).toEqual([]);
      let cut = 0;
      for (const question of questions) {
        await using agent = await open([question]);
        const { calls, stopReason } = await agent.send(question.message);
        for (const { toolName, typedArgumentsJson } of calls) {
          const schema = question.tools.find(({ name }: { readonly name: string }) => name === toolName)?.parameters;
          const isValid = ajv.validate(schema ?? false, JSON.parse(typedArgumentsJson));
          expect(isValid, `${question.id}: ${typedArgumentsJson} ${ajv.errorsText()}`).toBe(true);
        }
        if (calls.length === 0) expect(stopReason, question.id).toBe('LENGTH');
        if (calls.length === 0) cut++;
      }
      expect(cut).toBeLessThanOrEqual(1);
    });
  },
);
