import { describe, expect, it } from 'vitest';
import { isWhole } from '../../helpers/depth.ts';
import { mutatedReplies, reactDialect, replyTools } from '../../helpers/mutatedReplies.ts';
import { scriptedEngine } from '../../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer } from '../../helpers/server.ts';

// The definition of markup is that of test/unit/chat/reply/malformed/mutatedReplies.test.ts. These go
// the whole way, through node, socket and dialog, in the formats that a node can name.
const count = isWhole ? 80 : 20;
const formats = ['chatml', 'llama3', 'mistral', 'generic', 'react'];
const replies = [
  ...[...mutatedReplies(4 * count, 7)].filter(({ dialect }) => formats.includes(dialect.name)).slice(0, count),
  ...mutatedReplies(count / 4, 8, reactDialect),
];
const engine = scriptedEngine(
  replies.map(({ text }, index) => ({ match: `^reply ${index}$`, answer: text, chunk: 10_000 })),
);
const server = useServer({ engines: { mock: engine } });
const tags =
  /<\/?\|?(?:tool_call|function_call|python_tag)|\[TOOL_CALLS\]|<function=|\bAction(?: Input)?: *(?:$|[{\w])/m;
const tools = replyTools.map(({ name, description, parameters }) => ({ name, description, parameters }));

describe.each(subprotocols)('over %s, replies with mistakes', (subprotocol) => {
  it('put no markup into answers or the dialog, and each that opens a call gives a call or an event with a warning', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agents = new Map<string, number>();
    for (const tool_call_format of formats) {
      const params = { tools, tool_call_format, generate_on_no_tool: true };
      const graph = { start_node: 'act', nodes: { act: { type: 'ToolCall', params } } };
      agents.set(tool_call_format, await client.createAgent(graph));
    }
    const failures: string[] = [];
    for (const [index, { dialect, text }] of replies.entries()) {
      const agentId = agents.get(dialect.name) ?? 0;
      const turn = await client.sendMessage(agentId, `reply ${index}`);
      const plain = text.replaceAll(/`[^`]*(?:`|$)/g, '');
      const reported = turn.calls.length > 0 || (turn.events.length > 0 && turn.warnings.length > 0);
      const isAnswerClean = !tags.test(turn.text.replaceAll(/`[^`]*(?:`|$)/g, ''));
      if (turn.status !== 'SUCCESS' || !isAnswerClean || (tags.test(plain) && !reported))
        failures.push(JSON.stringify({ text, answer: turn.text, events: turn.events, warnings: turn.warnings }));
      const exported = await client.request('exportDialog', { agentId });
      if (exported.body !== 'exportDialog') throw new Error(JSON.stringify(exported));
      const [said] = (JSON.parse(exported.exportDialog.historyJson) as { assistant: string }[]).slice(-1);
      if (said?.assistant !== turn.text) failures.push(`the dialog differs from the answer: ${text}`);
      await client.request('clearDialog', { agentId });
    }
    expect(failures).toEqual([]);
  });
});
