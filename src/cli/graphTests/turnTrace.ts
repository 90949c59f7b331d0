import type { AgentHandle, Client } from '../../client/index.ts';
import { parseToolCall } from '../../client/toolCall.ts';
import { describeFault, Fault } from '../../protocol/fault.ts';
import type { NodeEvent, ServerFrame, ToolCallNotification } from '../../protocol/frames.gen.ts';
import { answererOf, turnAnswers } from '../callAnswers.ts';
import type { CaseTurn } from './casesSchema.ts';

/** A call as traces show it: without its id. */
export interface TracedCall extends Pick<ToolCallNotification, 'known' | 'issues'> {
  readonly node: string;
  readonly tool: string;
  /** The typed values. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface TracedStep {
  readonly node: string;
  readonly exit: string;
}

/** What a turn did. The same recording gives the same trace again. */
export interface TurnTrace {
  readonly user: string;
  readonly path: readonly TracedStep[];
  readonly calls: readonly TracedCall[];
  readonly text: string;
  /** The fields of its answers; absent: there were none. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Why the turn failed; absent: it did not. */
  readonly error?: string;
}

export interface TracedTurn {
  readonly trace: TurnTrace;
  readonly warnings: readonly string[];
  /** What the user has to know of the results. */
  readonly notes: readonly string[];
  /** The number of the inference that each call came from, in the order of the calls; 0 without diagnostics. */
  readonly inferenceOfCalls: readonly number[];
}

/** Runs one turn of a case. @throws the reason of the signal, when it is aborted; the turn is cancelled then. */
export async function runCaseTurn(
  client: Client,
  agent: AgentHandle,
  { user, variables, results }: CaseTurn,
  signal: AbortSignal,
): Promise<TracedTurn> {
  signal.throwIfAborted();
  const notes: string[] = [];
  const answers = turnAnswers(agent, answererOf(results, '"results"'), (note) => notes.push(note));
  let text = '';
  const fields = new Map<string, unknown>();
  const calls: TracedCall[] = [];
  const inferenceOfCalls: number[] = [];
  let inferences = 0;
  const onFrame = (frame: ServerFrame): void => {
    if (frame.body === 'answerText') text += frame.answerText.text;
    if (frame.body === 'answerField') fields.set(frame.answerField.name, JSON.parse(frame.answerField.valueJson));
    if (frame.body === 'nodeEvent' && isInference(frame.nodeEvent)) inferences++;
    if (frame.body !== 'toolCallNotification') return;
    const call = parseToolCall(frame.toolCallNotification);
    const { nodeName: node, toolName: tool, arguments: args, known, issues } = call;
    calls.push({ node, tool, arguments: args, known, issues });
    inferenceOfCalls.push(inferences);
    answers.add(call);
  };
  const shownFields = () => (fields.size > 0 ? { fields: Object.fromEntries(fields) } : {});
  const cancel = (): void => void client.request('cancelTurn', { agentId: agent.id, turnId: 0 }).catch(() => undefined);
  signal.addEventListener('abort', cancel);
  const traced = (path: readonly TracedStep[], warnings: readonly string[], error?: string): TracedTurn => ({
    trace: { user, path, calls, text, ...shownFields(), ...(error !== undefined && { error }) },
    warnings,
    notes,
    inferenceOfCalls,
  });
  try {
    const done = await client.request('sendMessage', { agentId: agent.id, text: user, variables }, { onFrame });
    signal.throwIfAborted();
    const path = done.path.map(({ nodeName: node, exit }) => ({ node, exit }));
    return traced(path, done.warnings, done.status === 'ERROR' && done.error ? describeFault(done.error) : undefined);
  } catch (error) {
    // The server has refused the message: one that is too long, for example.
    if (error instanceof Fault) return traced([], [], describeFault(error));
    throw error;
  } finally {
    answers.endWait();
    signal.removeEventListener('abort', cancel);
  }
}

// The event comes after the inference, and before its calls.
const isInference = ({ eventType, part, of }: NodeEvent): boolean => eventType === 'inference' && part >= of;
