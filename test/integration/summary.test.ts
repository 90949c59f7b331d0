import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/chat/dialog.ts';
import { Gate } from '../helpers/gate.ts';
import { chat, lamp } from '../helpers/graphs.ts';
import { heldEngine } from '../helpers/heldEngine.ts';
import { errorOf, startTestServer, subprotocols, TestClient } from '../helpers/server.ts';

// Turns have 33 tokens each: 15 fill seven eighths of what is free for them, 17 all of it.
const contextSize = 560;
const filler = 'la '.repeat(15).trim();
const answer = `Yes, ${filler}`;
const params = { summary: true, summary_tokens: 40, sampling: { max_tokens: 16 } };
const summaryLine = { node: 'answer.summary', answer: 'Ada lost her key in the mill.' };
const note = 'Summary of the conversation before the messages below:\nAda lost her key in the mill.';

describe.each(subprotocols)('over %s, a running summary', (subprotocol) => {
  const serve = async (lines: Parameters<typeof heldEngine>[0] = [summaryLine]) => {
    const engine = heldEngine([...lines, { answer }], contextSize);
    const server = await startTestServer({ engines: { mock: engine } });
    const client = await TestClient.connect(server.url, subprotocol);
    const agentId = await client.createAgent(chat({ system_prompt: 'Be kind.', ...params }));
    const say = (text = 'Well') => client.sendMessage(agentId, `${text}, ${filler}`);
    /** Talks until the oldest turns are dropped. */
    const talk = async () => {
      for (let turn = 0; turn < 30; turn++) {
        const ended = await say();
        if (ended.interactionsDropped > 0) return ended;
      }
      throw new Error('nothing was dropped');
    };
    const saved = async () => (await client.dialogOf(agentId)).at(-1)?.agent?.summaries ?? [];
    const summarised = async () => {
      for (let request = 0; request < 1000; request++) {
        const [summary] = await saved();
        if (summary) return summary;
      }
      throw new Error('there is no summary');
    };
    const promptsOf = (head: string): readonly (readonly Message[])[] =>
      engine.prompts.map(({ messages }) => messages).filter(([first]) => first?.text.startsWith(head));
    return {
      client,
      agentId,
      say,
      talk,
      saved,
      summarised,
      promptsOf,
      async [Symbol.asyncDispose]() {
        await client[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  };

  it('is made before it is needed, and stands first in the prompt once the oldest turns are dropped', async () => {
    await using game = await serve();
    for (let turn = 1; turn <= 15; turn++)
      expect(await game.say(`${turn}`)).toMatchObject({ interactionsDropped: 0, interactionsSummarised: 0 });
    const { interactions } = await game.summarised();
    const turn = await game.talk();
    expect(turn).toMatchObject({ interactionsDropped: interactions, interactionsSummarised: interactions });
    const prompts = game.promptsOf('Be kind.');
    expect(prompts.at(-2)?.[0]?.text).toBe('Be kind.');
    expect(prompts.at(-1)?.[0]?.text).toBe(`Be kind.\n\n${note}`);
    expect(prompts.at(-1)?.[1]?.text).toBe(`${interactions + 1}, ${filler}`);
    const [[, lines] = []] = game.promptsOf('You keep the summary');
    expect(lines?.text).toContain(`New lines:\nUser: 1, ${filler}\nAssistant: ${answer}\nUser: 2`);
  });

  it('changes the prompt only where the window moves, and grows by what falls out next', async () => {
    await using game = await serve();
    let reused = 0;
    let former = await game.say();
    for (let count = 0; count < 40; count++) {
      const turn = await game.say();
      const isMoved = turn.interactionsDropped > former.interactionsDropped;
      if (!isMoved && turn.interactionsDropped > 0) {
        expect(turn.interactionsSummarised).toBe(former.interactionsSummarised);
        expect(turn.tokensReused).toBeGreaterThanOrEqual(former.tokensPrompt);
        reused++;
      }
      former = turn;
    }
    expect(reused).toBeGreaterThan(15);
    expect(former.interactionsSummarised).toBeGreaterThan(15);
    const last = game.promptsOf('You keep the summary').at(-1);
    expect(last?.[1]?.text).toContain('Summary so far:\nAda lost her key in the mill.\n\nNew lines:\n');
  });

  it('is never waited for: turns are dropped without it, and are in it later', async () => {
    const gate = new Gate();
    await using game = await serve([{ ...summaryLine, gate, piecesBeforeGate: 0 }]);
    const turn = await game.talk();
    expect(turn).toMatchObject({ status: 'SUCCESS', interactionsSummarised: 0 });
    expect(game.promptsOf('Be kind.').at(-1)?.[0]?.text).toBe('Be kind.');
    gate.open();
    let later = await game.say();
    while (later.interactionsSummarised === 0) later = await game.say();
    expect(later.interactionsSummarised).toBeGreaterThanOrEqual(turn.interactionsDropped);
  });

  it('waits while the session is paused, and is dropped by clearDialog and by the end of the agent', async () => {
    const gate = new Gate();
    await using game = await serve([{ ...summaryLine, gate, piecesBeforeGate: 0 }]);
    const { client, agentId } = game;
    await game.talk();
    expect(game.promptsOf('You keep the summary')).toHaveLength(1);
    expect(await client.request('clearDialog', { agentId })).toMatchObject({ body: 'ack' });
    expect(await client.dialogOf(agentId)).toEqual([]);
    await game.talk();
    const pace = { maxTokensPerSecond: 0, maxThreads: 0 };
    await client.request('setPace', { ...pace, paused: true });
    gate.open();
    expect(await game.saved()).toEqual([]);
    await client.request('setPace', { ...pace, paused: false });
    expect(await game.summarised()).toMatchObject({ node: 'answer', text: summaryLine.answer });
    await client.request('clearDialog', { agentId });
    expect(await game.saved()).toEqual([]);
    expect(await game.talk()).toMatchObject({ interactionsSummarised: 4 });
    gate.close();
    await game.talk();
    expect(await client.request('destroyAgent', { agentId })).toMatchObject({ body: 'ack' });
  });

  it('that fails is a warning of a later turn, and the dialog goes on', async () => {
    await using game = await serve([{ node: 'answer.summary', answer: ' ' }]);
    const turn = await game.talk();
    expect(turn).toMatchObject({ status: 'SUCCESS', interactionsSummarised: 0 });
    expect(turn.warnings).toEqual([
      'the summary of answer failed: the model wrote no summary; choose another model, or raise summary_tokens',
    ]);
  });

  it('is saved with the dialog, and stands for turns that the saved dialog does not have any more', async () => {
    await using game = await serve();
    const { client, agentId } = game;
    const graph = chat({ system_prompt: 'Be kind.', ...params });
    const before = await game.talk();
    const history = await client.dialogOf(agentId);
    const again = await client.createAgent(graph, { historyJson: JSON.stringify(history) });
    const [here, there] = [await game.say(), await client.sendMessage(again, `Well, ${filler}`)];
    expect(there).toMatchObject({
      tokensPrompt: here.tokensPrompt,
      interactionsSummarised: here.interactionsSummarised,
    });
    const kept = history.slice(before.interactionsDropped + 1);
    const third = await client.createAgent(graph, { historyJson: JSON.stringify(kept) });
    expect(await client.sendMessage(third, 'And?')).toMatchObject({
      interactionsDropped: 0,
      interactionsSummarised: before.interactionsSummarised,
    });
    expect(game.promptsOf('Be kind.').at(-1)?.[0]?.text).toContain(note);
    const faulty = JSON.stringify([{ user: '', assistant: '', agent: { summaries: [{ node: 'answer', text: '' }] } }]);
    expect(errorOf(await client.request('createAgent', { graphName: 'chat', historyJson: faulty })).message).toContain(
      'createAgent.historyJson[0].agent.summaries[0].text must not be empty',
    );
  });

  it('that was saved with a larger context is shortened when turns are added to it', async () => {
    await using game = await serve();
    const summaries = [{ node: 'answer', text: 'ding dong '.repeat(5000), interactions: 3, entries_after: 0 }];
    const historyJson = JSON.stringify([{ user: 'Hello', assistant: 'Hello', agent: { summaries } }]);
    const agentId = await game.client.createAgent(chat({ system_prompt: 'Be kind.', ...params }), { historyJson });
    let turn = await game.client.sendMessage(agentId, filler);
    expect(turn.interactionsDropped).toBe(0);
    while (turn.interactionsDropped === 0) turn = await game.client.sendMessage(agentId, filler);
    expect(turn.warnings).toEqual([]);
    expect(turn.interactionsSummarised).toBeGreaterThan(3);
    const text = game.promptsOf('You keep the summary')[0]?.[1]?.text ?? '';
    expect(/^Summary so far:\n([^]*)\n\nNew lines:/.exec(text)?.[1]).toMatch(/^(ding dong ?){10,20}/);
  });

  it('is made for a ToolCall, too, and not for a node that does not ask for it', async () => {
    await using game = await serve([{ node: 'detect.summary', answer: 'Ada asked for light.' }]);
    const { client } = game;
    const agentId = await client.createAgent(lamp({ summary: true, summary_tokens: 20 }));
    let turn = await client.sendMessage(agentId, filler);
    while (turn.interactionsSummarised === 0) turn = await client.sendMessage(agentId, filler);
    const summaries = (await client.dialogOf(agentId)).at(-1)?.agent?.summaries;
    expect(summaries?.map(({ node, text }) => [node, text])).toEqual([['detect', 'Ada asked for light.']]);
  });

  it('is shorter, with a warning, where the context has no room for it', async () => {
    await using game = await serve();
    const graphJson = JSON.stringify(chat({ summary: true }));
    expect(await game.client.request('createAgent', { graphJson })).toMatchObject({
      createAgent: {
        warnings: [expect.stringContaining('summary_tokens is 160, and a context of 560 tokens has room for 152')],
      },
    });
  });
});
