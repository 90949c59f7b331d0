import {
  codes,
  type ClientFrameBodies,
  type CodeName,
  type ErrorResponse,
  type NodeEvent,
  type ServerFrame,
  type ToolCallNotification,
  type TurnComplete,
} from '../../src/protocol/frames.gen.ts';
import { ConformanceFailure, expectThat, shown } from '../expect.ts';
import type { ProtocolSection } from '../sections.ts';
import type { CheckedConnection } from './connection.ts';

/** A turn with all that came in it. */
export interface ObservedTurn {
  readonly frames: readonly ServerFrame[];
  /** The texts of all AnswerText frames, joined. */
  readonly text: string;
  readonly calls: readonly ToolCallNotification[];
  readonly events: readonly NodeEvent[];
  readonly complete: TurnComplete;
}

/** Sends a request whose answer must have this body. @throws ConformanceFailure for another answer. */
export async function answered<Body extends keyof ClientFrameBodies, Answer extends ServerFrame['body']>(
  connection: CheckedConnection,
  request: readonly [body: Body, fields?: Partial<ClientFrameBodies[Body]>],
  answer: Answer,
): Promise<Extract<ServerFrame, { readonly body: Answer }>> {
  const [body, fields] = request;
  return expectAnswer(await connection.request(body, fields), answer, body);
}

/** The frame, which must have this body. @throws ConformanceFailure */
export function expectAnswer<Answer extends ServerFrame['body']>(
  frame: ServerFrame,
  answer: Answer,
  request: string,
): Extract<ServerFrame, { readonly body: Answer }> {
  expectThat(frame.body === answer, `${answer} as the answer to ${request}`, shown(frame));
  // Safe: the body was compared.
  return frame as unknown as Extract<ServerFrame, { readonly body: Answer }>;
}

/** Sends a request that must be refused with this error. @throws ConformanceFailure */
export async function refused<Body extends keyof ClientFrameBodies>(
  connection: CheckedConnection,
  request: readonly [body: Body, fields?: Partial<ClientFrameBodies[Body]>],
  name: CodeName,
  section?: ProtocolSection,
): Promise<ErrorResponse> {
  const [body, fields] = request;
  return expectError(await connection.request(body, fields), name, body, section);
}

/** The error in a frame, which must have this code. @throws ConformanceFailure */
export function expectError(
  frame: ServerFrame,
  name: CodeName,
  what: string,
  section?: ProtocolSection,
): ErrorResponse {
  const expected = `error ${codes[name]} ${name} to ${what}`;
  if (frame.body !== 'error') throw new ConformanceFailure(expected, shown(frame), section);
  expectThat(frame.error.code === codes[name] && frame.error.name === name, expected, shown(frame.error), section);
  return frame.error;
}

/** Creates an agent. Returns its id. @throws ConformanceFailure */
export async function createAgent(
  connection: CheckedConnection,
  graph: object,
  fields: Partial<ClientFrameBodies['createAgent']> = {},
): Promise<number> {
  const request = { graphJson: JSON.stringify(graph), ...fields };
  const { createAgent: created } = await answered(connection, ['createAgent', request], 'createAgent');
  return created.agentId;
}

/** Sends a message and waits for the end of its turn. @throws ConformanceFailure */
export async function runTurn(
  connection: CheckedConnection,
  agentId: number,
  text: string,
  fields: Partial<ClientFrameBodies['sendMessage']> = {},
): Promise<ObservedTurn> {
  const from = connection.frames.length;
  return turnOf(connection, connection.send('sendMessage', { agentId, text, ...fields }), from);
}

/** Waits for the end of the turn that a sendMessage has started. @throws ConformanceFailure */
export async function turnOf(connection: CheckedConnection, requestId: number, from = 0): Promise<ObservedTurn> {
  const last = expectAnswer(await connection.answerTo(requestId, from), 'turnComplete', 'sendMessage');
  const frames = connection.frames.slice(from).filter((frame) => frame.requestId === requestId);
  return {
    frames,
    text: textOf(frames),
    calls: frames.flatMap((frame) => (frame.body === 'toolCallNotification' ? [frame.toolCallNotification] : [])),
    events: frames.flatMap((frame) => (frame.body === 'nodeEvent' ? [frame.nodeEvent] : [])),
    complete: last.turnComplete,
  };
}

/** The texts of the AnswerText frames, joined. */
export const textOf = (frames: readonly ServerFrame[]): string =>
  frames.map((frame) => (frame.body === 'answerText' ? frame.answerText.text : '')).join('');

/** Exports the dialog of an agent: all parts, joined and parsed. @throws ConformanceFailure */
export async function exportDialog(
  connection: CheckedConnection,
  agentId: number,
): Promise<readonly ExportedInteraction[]> {
  return JSON.parse(await exportText(connection, agentId)) as readonly ExportedInteraction[];
}

/** Exports the dialog of an agent: all parts, joined. @throws ConformanceFailure */
export async function exportText(connection: CheckedConnection, agentId: number): Promise<string> {
  const from = connection.frames.length;
  const requestId = connection.send('exportDialog', { agentId });
  expectAnswer(await connection.answerTo(requestId, from), 'exportDialog', 'exportDialog');
  const parts = connection.frames
    .slice(from)
    .flatMap((frame) => (frame.requestId === requestId && frame.body === 'exportDialog' ? [frame.exportDialog] : []));
  const isComplete = parts.every(({ part, of }, index) => part === index + 1 && of === parts.length);
  expectThat(
    isComplete,
    'parts 1, 2, 3, ... of their number',
    shown(parts.map(({ part, of }) => `${part} of ${of}`)),
    'ExportDialogResponse',
  );
  return parts.map(({ historyJson }) => historyJson).join('');
}

/** Searches a storage: the ids of the hits of all parts, and whether there are any. @throws ConformanceFailure */
export async function searchStorage(
  connection: CheckedConnection,
  fields: Partial<ClientFrameBodies['searchStorage']>,
): Promise<{ readonly ids: readonly string[]; readonly found: boolean }> {
  const from = connection.frames.length;
  const requestId = connection.send('searchStorage', fields);
  const { searchStorage: last } = expectAnswer(
    await connection.answerTo(requestId, from),
    'searchStorage',
    'searchStorage',
  );
  const parts = connection.frames
    .slice(from)
    .flatMap((frame) => (frame.requestId === requestId && frame.body === 'searchStorage' ? [frame.searchStorage] : []));
  const hits = JSON.parse(parts.map(({ hitsJson }) => hitsJson).join('')) as readonly { readonly id: string }[];
  return { ids: hits.map(({ id }) => id), found: last.found };
}

/** One turn of an exported dialog. */
export interface ExportedInteraction {
  readonly user: string;
  readonly assistant: string;
  readonly mark?: string;
  readonly variables?: Readonly<Record<string, string>>;
}
