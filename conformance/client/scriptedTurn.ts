import type { ToolCallNotification, TurnComplete } from '../../src/protocol/frames.gen.ts';
import { ConformanceFailure, expectEqual, expectThat, shown } from '../expect.ts';
import { eventOf } from './inbox.ts';
import type { Delivery, ScriptedConnection, ClientRequest } from './scriptedConnection.ts';
import type { EventNamed, Stage } from './stage.ts';
import type { StageAgent } from './stageAgent.ts';

/** What a call of a scripted turn has; the rest has defaults. */
export type ScriptedToolCall = Pick<ToolCallNotification, 'callId' | 'toolName' | 'typedArgumentsJson'> &
  Partial<ToolCallNotification>;

/** A field of an answer, and the text before it. */
type SentField = { readonly name: string; readonly value: string | number; readonly before: string };

/** Whether an event reports a part of a turn that runs. */
const isPiece = ({ event }: { readonly event: string }): boolean => ['text', 'call', 'field'].includes(event);

/** A turn that the kit scripts, and what the program has reported of it. */
export class ScriptedTurn {
  readonly agent: StageAgent;
  /** The id of the command that has sent the message. */
  readonly commandId: number;
  readonly requestId: number;
  readonly turnId: number;
  readonly bytes: Buffer;
  /** Where its frames are sent; a resume replaces it. */
  connection: ScriptedConnection;
  readonly #stage: Stage;
  readonly #message: string;
  readonly #calls: ScriptedToolCall[] = [];
  readonly #fields: SentField[] = [];
  readonly #reportedFields: SentField[] = [];
  #text = '';
  #reportedText = '';
  #reportedCalls = 0;

  private constructor(stage: Stage, agent: StageAgent, commandId: number, request: ClientRequest<'sendMessage'>) {
    this.#stage = stage;
    this.agent = agent;
    this.commandId = commandId;
    this.requestId = request.requestId;
    this.bytes = request.bytes;
    this.connection = request.connection;
    this.#message = request.fields.text;
    this.turnId = agent.beginTurn();
  }

  /** Lets the program send a message, and checks the request. */
  static async start(stage: Stage, agent: StageAgent, text = 'Good evening! “Ünïcödé” 🏮'): Promise<ScriptedTurn> {
    return ScriptedTurn.received(stage, agent, stage.command('send', { agent: agent.name, text }), text);
  }

  /** Waits for the message of a command, and checks the request. */
  static async received(stage: Stage, agent: StageAgent, commandId: number, text: string): Promise<ScriptedTurn> {
    const request = await stage.request('sendMessage', 'SendMessageRequest');
    const { agentId, text: message } = request.fields;
    expectEqual('the agent_id', agentId, agent.id, 'SendMessageRequest');
    expectEqual('the text of the message', message, text, 'SendMessageRequest');
    return new ScriptedTurn(stage, agent, commandId, request);
  }

  /** Sends a piece of the answer. */
  text(text: string, delivery?: Delivery): this {
    this.#text += text;
    const { id: agentId } = this.agent;
    const fields = { agentId, turnId: this.turnId, nodeName: 'answer', text, isDelta: true };
    this.connection.send(this.requestId, 'answerText', fields, delivery);
    return this;
  }

  /** Sends a field of the answer. */
  field(name: string, value: string | number): this {
    this.#fields.push({ name, value, before: this.#text });
    const fields = {
      agentId: this.agent.id,
      turnId: this.turnId,
      node: 'answer',
      name,
      valueJson: JSON.stringify(value),
    };
    this.connection.send(this.requestId, 'answerField', fields);
    return this;
  }

  /** Sends a tool call. */
  call(call: ScriptedToolCall, delivery?: Delivery): this {
    const fields = {
      agentId: this.agent.id,
      turnId: this.turnId,
      nodeName: 'answer',
      callIndex: this.#calls.length,
      argumentsJson: flatArguments(call.typedArgumentsJson),
      known: true,
      ...call,
    };
    this.#calls.push(call);
    this.connection.send(this.requestId, 'toolCallNotification', fields, delivery);
    return this;
  }

  /** Sends an event of a node, which no event of the program follows from. */
  nodeEvent(eventType: string, payloadJson: string): this {
    const fields = {
      agentId: this.agent.id,
      turnId: this.turnId,
      nodeName: 'answer',
      eventType,
      payloadJson,
      part: 1,
      of: 1,
    };
    this.connection.send(this.requestId, 'nodeEvent', fields);
    return this;
  }

  /** Ends the turn. */
  end(fields: Partial<TurnComplete> = {}, delivery?: Delivery): this {
    const ids = { agentId: this.agent.id, turnId: this.turnId };
    const { status = 'SUCCESS' } = fields;
    const mark = { SUCCESS: {}, ERROR: { mark: 'failed' }, CANCELLED: { mark: 'cancelled' } }[status];
    this.agent.addInteraction({ user: this.#message, assistant: this.#text, ...mark });
    this.connection.send(this.requestId, 'answerText', { ...ids, nodeName: 'answer', isFinal: true });
    const summary = {
      path: [{ nodeName: 'answer', exit: 'default' }],
      stopReason: 'END',
      tokensPrompt: 40,
      tokensReused: 12,
      tokensGenerated: 7,
      timeToFirstTokenMs: 12.25,
      durationMs: 1503.0625,
      warnings: ['the message was long'],
    } as const;
    this.connection.send(this.requestId, 'turnComplete', { ...summary, ...ids, ...fields }, delivery);
    return this;
  }

  /** Waits until the program has written all that was sent. */
  async reported(): Promise<void> {
    while (this.#reportedText !== this.#text || this.#reportedCalls < this.#calls.length) {
      const event = await this.#event();
      expectThat(isPiece(event), 'the events of a turn that runs', shown(event), 'Order');
      expectThat(
        this.#text.startsWith(this.#reportedText),
        `the text ${shown(this.#text)}`,
        shown(this.#reportedText),
        'AnswerText',
      );
    }
  }

  /** Waits for the rest of the turn, and checks what the program has written of it. */
  async complete({ status = 'SUCCESS', reason = 'END' } = {}): Promise<EventNamed<'complete'>> {
    let event = await this.#event();
    while (isPiece(event)) event = await this.#event();
    expectThat(event.event === 'complete', 'the event "complete"', shown(event), 'TurnComplete');
    this.#checkText('the pieces of the answer, joined,', this.#reportedText);
    this.#checkText('the text of the event "complete"', event.text);
    expectEqual('the number of calls', this.#reportedCalls, this.#calls.length, 'ToolCallNotification');
    // A client that knows no fields reports none.
    const isSilent = this.#reportedFields.length === 0;
    if (!isSilent)
      expectEqual('the fields, and the text before each', this.#reportedFields, this.#fields, 'AnswerField');
    expectEqual('the status', event.status, status, 'TurnComplete');
    if (reason !== '') expectEqual('the reason', event.reason, reason, 'TurnComplete');
    return event;
  }

  /** Waits for the error that ends the turn; what was sent before it may be reported or not. */
  async failed(codes: readonly number[]): Promise<EventNamed<'error'>> {
    const expected = `an error with code ${codes.join(' or ')}`;
    let event = await this.#event();
    while (isPiece(event)) event = await this.#event();
    expectThat(event.event === 'error' && codes.includes(event.code), expected, shown(event), 'Error codes');
    return event;
  }

  /** Waits for the end of a turn that was cancelled: the rest of its text may be missing. */
  async cancelled(): Promise<void> {
    let event = await this.#event();
    while (isPiece(event)) event = await this.#event();
    if (event.event === 'error' && event.code === 0) return;
    expectThat(
      event.event === 'complete',
      'the event "complete", or an error with code 0',
      shown(event),
      'CancelTurnRequest',
    );
    expectEqual('the status', event.status, 'CANCELLED', 'CancelTurnRequest');
    const isText = this.#text.startsWith(event.text) && event.text.startsWith(this.#reportedText);
    expectThat(isText, `the text so far, ${shown(this.#text)}`, shown(event.text), 'CancelTurnRequest');
  }

  // Waits for the next event of the command, and keeps what it reports.
  async #event() {
    const event = await this.#stage.inbox.take(
      (happening) => eventOf(happening, this.commandId),
      `the events of the turn, up to ${shown(this.#text.slice(-20))}`,
      'Order',
    );
    if (event.event === 'text') this.#reportedText += event.text;
    if (event.event === 'call') this.#checkCall(event);
    if (event.event === 'field')
      this.#reportedFields.push({ name: event.name, value: event.value, before: this.#reportedText });
    return event;
  }

  #checkCall(event: EventNamed<'call'>): void {
    const call = this.#calls[this.#reportedCalls++];
    expectThat(call !== undefined, 'no further call', shown(event), 'ToolCallNotification');
    expectEqual('the call', [event.call, event.name], [call.callId, call.toolName], 'ToolCallNotification');
    const { arguments: given } = event;
    expectEqual('the arguments', given, JSON.parse(call.typedArgumentsJson), 'ToolCallNotification');
  }

  #checkText(what: string, text: string): void {
    const expected = this.#text;
    if (text === expected) return;
    let start = 0;
    while (start < text.length && text[start] === expected[start]) start++;
    const near = (whole: string): string => shown(whole.slice(Math.max(0, start - 10), start + 30));
    throw new ConformanceFailure(
      `${what} to have ${near(expected)} at its character ${start} of ${expected.length}`,
      near(text),
      'AnswerText',
    );
  }
}

// The values as strings: strings as they are, others as their JSON text.
function flatArguments(typedArgumentsJson: string): string {
  const values = Object.entries(JSON.parse(typedArgumentsJson) as object);
  const flat = values.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
  return JSON.stringify(Object.fromEntries(flat));
}
