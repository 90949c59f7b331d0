import { ConformanceFailure, shown } from '../expect.ts';
import type { CheckResult, CodecName } from '../report.ts';
import type { ProtocolSection } from '../sections.ts';
import { type ClientFrameBodies, codes, responses, type ServerFrame } from '../../src/protocol/frames.gen.ts';

type RequestBody = keyof ClientFrameBodies;

/** What comes before the final answer of any request. */
const earlierBodies = new Set<string>(Object.values(responses).flatMap(({ earlier }) => earlier));

/** Whether a frame is the final answer to its request. */
export function isFinalAnswer(frame: ServerFrame): boolean {
  if (frame.body === 'exportDialog') return frame.exportDialog.part >= frame.exportDialog.of;
  if (frame.body === 'searchStorage') return frame.searchStorage.part >= frame.searchStorage.of;
  if (frame.body === 'exportStorage') return frame.exportStorage.part >= frame.exportStorage.of;
  return !earlierBodies.has(frame.body);
}

/** A request as the trace of its session knows it. */
interface TracedRequest {
  /** Undefined for a frame that no client may send: it is answered with an error. */
  readonly body: RequestBody | undefined;
  readonly agentId: number | undefined;
  isAnswered: boolean;
  turnId: number | undefined;
  hasTextEnded: boolean;
}

/** What was sent and received in one session, on one connection after the other: finds violations of the rules. */
export class SessionTrace {
  readonly #rules: Pick<FrameRules, 'violate'>;
  readonly #requests = new Map<number, TracedRequest>();
  #lastSeq = 0;

  constructor(rules: Pick<FrameRules, 'violate'>) {
    this.#rules = rules;
  }

  /** The highest seq that was received. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** A request was sent. */
  sent(requestId: number, body?: RequestBody, agentId?: number): void {
    this.#requests.set(requestId, { body, agentId, isAnswered: false, turnId: undefined, hasTextEnded: false });
  }

  /** All frames after this one are expected once more. */
  rewind(lastSeq: number): void {
    this.#lastSeq = lastSeq;
    for (const [id, { body, agentId }] of this.#requests) this.sent(id, body, agentId);
  }

  /** A frame of an unknown message came: only its number is known to be used. */
  skip(): void {
    this.#lastSeq++;
  }

  /** A frame came. */
  received(frame: ServerFrame): void {
    this.#checkSeq(frame);
    if (frame.body === 'error') this.#checkError(frame.error);
    if (frame.body === 'turnComplete' && frame.turnComplete.error) this.#checkError(frame.turnComplete.error);
    const request = this.#requests.get(frame.requestId);
    if (request) this.#checkAnswer(request, frame);
    else if (frame.requestId !== 0 || !['sessionReady', 'error'].includes(frame.body))
      this.#rules.violate('requestId', 'an id of a request', `${frame.body} with requestId ${frame.requestId}`);
  }

  /** A request was not answered in time. */
  unanswered(requestId: number, waited: string): void {
    const name = this.#requests.get(requestId)?.body ?? 'a frame';
    this.#rules.violate('final', `a final answer to ${name}, request ${requestId}`, waited);
  }

  /** The requests without a final answer, as `[id, body]`. */
  open(): readonly (readonly [number, RequestBody | undefined])[] {
    return [...this.#requests].flatMap(([id, { body, isAnswered }]) => (isAnswered ? [] : [[id, body] as const]));
  }

  #checkSeq({ seq, body, requestId }: ServerFrame): void {
    const isUncounted = body === 'sessionReady' || body === 'resumeSession';
    if (isUncounted || (seq === 0 && body === 'error' && requestId === 0)) {
      if (seq !== 0) this.#rules.violate('seq', `seq 0 on ${body}`, String(seq));
      return;
    }
    if (seq !== this.#lastSeq + 1)
      this.#rules.violate('seq', `seq ${this.#lastSeq + 1} on the next frame (${body})`, String(seq));
    this.#lastSeq = seq;
  }

  #checkError({
    code,
    name,
    message,
  }: {
    readonly code: number;
    readonly name: string;
    readonly message: string;
  }): void {
    const known: Readonly<Record<string, number>> = codes;
    const isOther = Object.values(known).includes(code) || known[name] !== undefined;
    if (isOther && known[name] !== code) this.#rules.violate('error', 'a code with its own name', `${code} ${name}`);
    if (message === '') this.#rules.violate('error', 'a message', `none in ${code} ${name}`);
  }

  #checkAnswer(request: TracedRequest, frame: ServerFrame): void {
    const { body } = frame;
    const what = request.body ?? 'a frame that cannot be read';
    const isFinal = isFinalAnswer(frame);
    if (request.isAnswered) {
      if (isFinal || request.body !== 'sendMessage')
        this.#rules.violate('final', `no frame after the final answer to ${what}, request ${frame.requestId}`, body);
      else this.#rules.violate('afterTurn', `no frame after TurnComplete of request ${frame.requestId}`, body);
      return;
    }
    const allowed: readonly string[] = request.body
      ? ['error', responses[request.body].final, ...responses[request.body].earlier]
      : ['error'];
    if (!allowed.includes(body))
      this.#rules.violate('answer', `${allowed.slice(1).join(', ')} or error to ${what}`, body);
    if (request.body === 'sendMessage') this.#checkTurn(request, frame);
    if (isFinal) request.isAnswered = true;
  }

  #checkTurn(request: TracedRequest, frame: ServerFrame): void {
    const message = turnMessage(frame);
    if (!message) return;
    const { agentId, turnId } = message;
    request.turnId ??= turnId;
    if (agentId !== request.agentId || turnId !== request.turnId)
      this.#rules.violate('turnIds', `agent ${request.agentId}, turn ${request.turnId}`, shown(message));
    if (frame.body === 'answerText') {
      const { text, isFinal } = frame.answerText;
      if (request.hasTextEnded)
        this.#rules.violate('turn', 'no AnswerText after the final one', shown(frame.answerText));
      if (isFinal && text !== '') this.#rules.violate('turn', 'an empty text in the final AnswerText', shown(text));
      request.hasTextEnded ||= isFinal;
    }
    if (frame.body === 'turnComplete' && !request.hasTextEnded)
      this.#rules.violate('turn', 'an AnswerText with isFinal before TurnComplete', 'TurnComplete');
  }
}

function turnMessage(frame: ServerFrame): { readonly agentId: number; readonly turnId: number } | undefined {
  switch (frame.body) {
    case 'answerText':
      return frame.answerText;
    case 'answerField':
      return frame.answerField;
    case 'toolCallNotification':
      return frame.toolCallNotification;
    case 'nodeEvent':
      return frame.nodeEvent;
    case 'turnComplete':
      return frame.turnComplete;
    default:
      return undefined;
  }
}

/** What holds for every frame of a server. Checked on all connections of a run, and reported at its end. */
const rules = {
  kind: {
    name: 'Every frame of the server is a WebSocket message of the kind that its codec has',
    section: 'Connecting',
  },
  form: { name: 'Every frame of the server has the fields of its message, each of its type', section: 'The JSON form' },
  size: { name: 'Every frame of the server is below 60 KiB', section: 'Frame sizes' },
  seq: { name: 'The frames of a session are numbered 1, 2, 3 without gaps', section: 'ServerFrame' },
  requestId: { name: 'Every answer has the id of a request that was sent', section: 'ServerFrame' },
  final: { name: 'Every request gets exactly one final answer', section: 'ClientFrame' },
  answer: { name: 'Every answer is a message that its request can have', section: 'ClientFrame' },
  turn: { name: 'The text of a turn ends with one empty final frame, before its TurnComplete', section: 'Order' },
  afterTurn: { name: 'Nothing of a turn follows its TurnComplete', section: 'Order' },
  turnIds: { name: 'The frames of a turn name its agent and its turn', section: 'AnswerText' },
  error: { name: 'Every error has a code with its own name, and a message', section: 'Error codes' },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly section: ProtocolSection }>>;

/** The name of a rule for every frame. */
type FrameRule = keyof typeof rules;

/** Collects the first violation of each rule on the connections of a run. */
export class FrameRules {
  readonly #violations = new Map<FrameRule, ConformanceFailure>();

  /** A rule was violated; later violations of the same rule are not reported. */
  violate(rule: FrameRule, expected: string, came: string): void {
    if (!this.#violations.has(rule)) this.#violations.set(rule, new ConformanceFailure(expected, came));
  }

  /** What came of each rule. */
  results(codec: CodecName): readonly CheckResult[] {
    return Object.entries(rules).map(([rule, { name, section }]) => {
      const violation = this.#violations.get(rule as FrameRule);
      return { name, codec, outcome: violation ? 'failed' : 'passed', reason: violation?.describe(section) ?? '' };
    });
  }
}
