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

    const open = ({ tools }: Question): Promise<AgentHandle> => {
      const sampling = { temperature: 0 };
      const params = {
        model_name: 'smollm2',
        tools,
        strict: true,
        tool_choice: 'required',
        sampling,
        max_tokens_per_call: 100,
      };
      return client.createAgent({ graph: { start_node: 'call', nodes: { call: { type: 'ToolCall', params } } } });
    };

    /** "": a graph with these tools is accepted. */
    const refusalOf = async (question: Question): Promise<string> => {
      try {
        await using _ = await open(question);
        return '';
      } catch (error) {
        return String(error);
      }
    };

    it('are possible with all declarations, but three that no value fits', async () => {
      const refusals: string[] = [];
      const known = new Map<string, string>();
      let accepted = 0;
      for (const category of [...Object.keys(categories), 'live_relevance'])
        for (const question of (await readQuestions(category)).filter(({ tools }) => tools.length > 0)) {
          // Many questions of the live categories are about the same tools.
          const declarations = JSON.stringify(question.tools);
          const refusal = known.get(declarations) ?? (await refusalOf(question));
          known.set(declarations, refusal);
          if (refusal === '') accepted++;
          else refusals.push(`${question.id}: ${refusal}`);
        }
      const noValue = expect.stringContaining(
        '.professional_group_id.enum has no value that could be given',
      ) as unknown;
      expect(refusals).toEqual([
        expect.stringMatching(/^parallel_29: .*population.required names "adults", which is not declared/),
        noValue,
        noValue,
      ]);
      expect(accepted).toBe(3484);
    });

    it('fit their schemas, unless they are cut off', async () => {
      const questions: Question[] = [];
      for (const category of Object.keys(categories)) {
        const all = (await readQuestions(category)).filter(({ tools }) => tools.length > 0);
        // One of each, at a quarter by size: most of the time is that of the prompts.
        const bySize = all.toSorted((one, other) => sizeOf(one) - sizeOf(other));
        questions.push(...bySize.slice(all.length / 4).slice(0, 1));
      }
      expect(questions).toHaveLength(10);
      let cut = 0;
      for (const question of questions) {
        await using agent = await open(question);
        const { calls, stopReason } = await agent.send(question.message);
        for (const { toolName, typedArgumentsJson } of calls) {
          const schema = question.tools.find(({ name }: { readonly name: string }) => name === toolName)?.parameters;
          const isValid = ajv.validate(schema ?? false, JSON.parse(typedArgumentsJson));
          expect(isValid, `${question.id}: ${typedArgumentsJson} ${ajv.errorsText()}`).toBe(true);
        }
        if (calls.length === 0) expect(stopReason, question.id).toBe('LENGTH');
        if (calls.length === 0) cut++;
      }
      expect(cut).toBeLessThanOrEqual(2);
    });
  },
);
