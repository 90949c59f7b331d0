import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Agent } from '../../../../src/graph/agent/agent.ts';
import { defaultServerOptions } from '../../../../src/server/config.ts';
import { mockEngine } from '../../../../src/inference/mock/engine.ts';
import { readMockScript } from '../../../../src/inference/mock/script.ts';
import { readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { ModelPool } from '../../../../src/inference/models/pool/pool.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { SessionStorages } from '../../../../src/graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../../../src/graph/storage/storageRoot.ts';
import { chatml } from '../../../../src/chat/formats/chatml.ts';
import type { ToolChoice } from '../../../../src/chat/grammar/rule.ts';
import { UnsupportedToolSchema } from '../../../../src/chat/formats/callGrammar.ts';
import { defineFormat, type ToolCallFormat } from '../../../../src/chat/tool.ts';
import { collectMentions } from '../../../../src/chat/tools/validate/grounding.ts';
import { repositoryPath } from '../../../helpers/server.ts';
import { lamp, setLight } from '../../../helpers/graphs.ts';
import { keywords } from '../../../helpers/keywords.ts';

vi.mock(import('../../../../src/chat/tools/validate/grounding.ts'), { spy: true });

const call = '<tool_call>\n{"name": "set_light", "arguments": {"name": "porch", "on": true}}\n</tool_call>';
const catalogue = await readCatalogue(repositoryPath('models.json'));

describe('a ToolCall node', () => {
  const compiled: ToolChoice['kind'][] = [];
  const countingFormat = defineFormat({
    ...chatml,
    name: 'counting',
    grammar(tools, choice) {
      compiled.push(choice.kind);
      if (!chatml.grammar) throw new Error('chatml has no grammar');
      return chatml.grammar(tools, choice);
    },
  });
  const script = readMockScript(JSON.stringify([{ match: 'porch', answer: call + call }]), 'script');
  let pool: ModelPool;
  let agent: Agent;

  beforeEach(async () => {
    compiled.length = 0;
    pool = new ModelPool(mockEngine({ script }), {
      idleMs: 0,
      slots: 1,
      threads: 1,
      gpu: 'off',
      needsName: false,
      catalogue,
    });
    agent = await create(lamp({ strict: true, tool_call_format: 'counting' }), countingFormat);
  });
  afterEach(async () => {
    await agent[Symbol.asyncDispose]();
    await pool[Symbol.asyncDispose]();
  });

  const create = (graph: object, format: ToolCallFormat): Promise<Agent> =>
    Agent.create({
      id: 1,
      graph,
      registry: registryWith({ formats: [format], nodeTypes: [keywords] }),
      pool,
      storages: new SessionStorages(new StorageRoot('.'), Infinity),
      defaultModelName: '',
      diagnostics: false,
      maxSteps: 0,
      history: [],
      limits: defaultServerOptions(),
      turnTimeoutMs: 10_000,
    });

  const turn = (message = 'the porch') =>
    agent.send(message, {}, { emit: () => undefined, backpressure: () => undefined });

  it('compiles its grammar once, however many turns follow', async () => {
    await turn();
    await turn();
    expect(agent.history).toHaveLength(2);
    expect(compiled).toEqual(['auto']);
  });

  it('compiles its grammar again only when tool_choice or strict changes', async () => {
    await agent.changeParams('detect', { system_prompt: 'Be kind.', notify_client: false });
    await turn();
    expect(compiled).toEqual(['auto']);
    await agent.changeParams('detect', { tool_choice: 'required' });
    await turn();
    // The second is for a turn that has results: then the model may also answer.
    expect(compiled).toEqual(['auto', 'required', 'auto']);
    await agent.changeParams('detect', { tool_choice: 'auto', strict: false });
    await turn();
    expect(compiled).toEqual(['auto', 'required', 'auto']);
  });

  it('refuses tools that only the grammar of its format cannot express, and names the place', async () => {
    const refusing = defineFormat({
      ...countingFormat,
      name: 'refusing',
      grammar() {
        const pointer = '/properties/on';
        throw new UnsupportedToolSchema([{ tool: 'set_light', pointer, message: 'has no notation' }]);
      },
    });
    const creation = create(lamp({ strict: true, tool_call_format: 'refusing' }), refusing);
    await expect(creation).rejects.toThrow(
      'detect.params.tools[0].parameters[1] has no notation; the tool "set_light" cannot be strict with it',
    );
  });

  describe('that offers selected tools', () => {
    const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
    const tools = names.map((name) => ({ ...setLight, name }));
    const words = names.map((name) => ({ word: name, tools: [name] }));
    let selecting: Agent;

    const graph = (params: object): object => ({
      start_node: 'select',
      nodes: {
        select: { type: 'Keywords', params: { words }, exits: { default: 'detect' } },
        detect: {
          type: 'ToolCall',
          params: { tools, tools_from: 'selection', tool_call_format: 'counting', strict: true, ...params },
          exits: { no_tool_called: 'answer' },
        },
        answer: { type: 'CannedResponse', params: { inline_strings: ['Hm.'] } },
      },
    });
    afterEach(() => selecting[Symbol.asyncDispose]());

    const run = async (...messages: readonly string[]): Promise<void> => {
      for (const message of messages)
        await selecting.send(message, {}, { emit: () => undefined, backpressure: () => undefined });
    };

    it('keeps the grammars of selections that alternate', async () => {
      selecting = await create(graph({}), countingFormat);
      compiled.length = 0;
      await run('t0 t1', 't1 t2', 't0 t1', 't1 t2', 'nothing', 't0 t1');
      expect(compiled).toEqual(['auto', 'auto']);
    });

    it('keeps those of the 16 selections that were used last', async () => {
      selecting = await create(graph({}), countingFormat);
      compiled.length = 0;
      await run(...names.slice(2, 18).map((name) => `t0 ${name}`), 't0 t2', 't0 t18', 't0 t2');
      expect(compiled).toHaveLength(17);
      await run('t0 t3');
      expect(compiled).toHaveLength(18);
    });

    it('leaves out tools that make the grammar too large together, with a warning', async () => {
      const flags = { type: 'array', items: { type: 'boolean' }, maxItems: 256 };
      const properties = Object.fromEntries(names.slice(0, 12).map((name) => [name, flags]));
      const parameters = { type: 'object', properties };
      const large = names.map((name) => ({ name, description: 'Sets flags.', parameters }));
      selecting = await create(graph({ tools: large }), countingFormat);
      expect(selecting.warnings).toEqual([]);
      const warnings: string[] = [];
      const message = names.slice(0, 4).join(' ');
      const fault = await selecting.send(
        message,
        {},
        {
          emit: (body, frame) => void (body === 'turnComplete' && 'path' in frame && warnings.push(...frame.warnings)),
          backpressure: () => undefined,
        },
      );
      expect(fault).toBeUndefined();
      const reason =
        'together with the tools before it makes the grammar larger than 65536 characters (a rule or a repetition counts as 8); declare less';
      expect(warnings).toEqual(
        ['t2', 't3'].map((name) => `detect leaves out the tool ${name} in this turn: ${reason}`),
      );
    });
  });

  it('splits the dialog into words once in a turn with calls, and never in others', async () => {
    vi.mocked(collectMentions).mockClear();
    await turn();
    expect(collectMentions).toHaveBeenCalledOnce();
    await turn('hello');
    expect(collectMentions).toHaveBeenCalledOnce();
  });
});
