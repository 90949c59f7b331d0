// Runs one item of "result given": the first call is certain, and its result is submitted within the turn.
import { withAgent } from '../evalServer.mjs';
import { detectedCalls, incompleteCalls, repeatedCalls, unreadCalls } from './readCalls.mjs';
import { sampling, toolParams } from './runItem.mjs';

/** @typedef {'loop' | 'generate'} Wiring */

/**
 * Where `tool_called` leads: back to the ToolCall node, which may call again or answer; or to a Generate node, which answers.
 * @type {readonly Wiring[]}
 */
export const wirings = ['loop', 'generate'];

const maxRounds = 4;

/** The graph of an item. Once there are results, the choice of its first tool counts as `auto`. */
function resultGraphOf(tools, row, wiring) {
  const params = {
    ...toolParams(tools, row),
    tool_choice: tools[0].name,
    await_results: true,
    max_rounds: maxRounds,
  };
  const call = { type: 'ToolCall', params, exits: { tool_called: wiring === 'loop' ? 'call' : 'answer' } };
  if (wiring === 'loop') return { start_node: 'call', nodes: { call } };
  // The prompt of the graph `weather`.
  const system_prompt = 'Answer in one short sentence. Use the result.';
  return { start_node: 'call', nodes: { call, answer: { type: 'Generate', params: { system_prompt, sampling } } } };
}

/**
 * Runs an item; every call gets its result.
 * @returns {Promise<import('./judgeResult.mjs').ResultAnswer>}
 * @throws {Error} The Fault of a turn that failed.
 */
export const runResultItem = (client, model, item, row, wiring) =>
  withAgent(client, { model, graph: resultGraphOf(item.tools, row, wiring) }, async (agent) => {
    const content = typeof item.result === 'string' ? item.result : JSON.stringify(item.result);
    const onCall = ({ callId, turnId, awaitsResult }) => {
      if (!awaitsResult) return;
      const results = [{ callId, ok: item.ok ?? true, content, lifespan: 'TURN' }];
      // A turn that has failed meanwhile refuses it; its own error says more.
      client.request('submitToolResults', { agentId: agent.id, turnId, results }).catch(() => {});
    };
    const turn = await agent.send(item.message, { onCall });
    return {
      calls: [...detectedCalls(turn), ...incompleteCalls(turn)],
      unread: unreadCalls(turn).length,
      repeated: repeatedCalls(turn),
      text: turn.text.trim(),
      endless: turn.stopReason === 'LENGTH',
    };
  });
