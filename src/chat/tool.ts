import { tryParseJson } from '../base/jsonTypes.ts';
import type { JsonObject } from './json/value.ts';
import type { CallGrammar, ToolChoice } from './grammar/rule.ts';
import type { ReplyMarks } from './replyMarks.ts';

/** JSON Schema of a tool's arguments; the order of the keys is that of the prompt. */
export interface ArgumentsSchema {
  readonly type: 'object';
  readonly properties?: { readonly [name: string]: { readonly type?: string; readonly [keyword: string]: unknown } };
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** A tool that the client offers (OpenAI: function). */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: ArgumentsSchema;
  /** Whether a call has consequences outside of the conversation. If so, an issue of whatever kind keeps it from being sent. */
  readonly consequential: boolean;
  /** Declared facts of the parameters that have any, by path: `city`, `place.city`, `items[].name`. */
  readonly notes: ReadonlyMap<string, ParamNotes>;
  /** The parameters whose allowed values come from a variable of the turn; absent: none. Their schemas have `enum_from`. */
  readonly enumSources?: readonly EnumSource[];
  /** Where it was declared, if not in turngraph's own form with a JSON Schema. */
  readonly origin?: ToolOrigin;
}

/** Where the allowed values of a parameter come from. */
export interface EnumSource {
  /** JSON pointer of its schema, into the parameters of the tool. */
  readonly pointer: string;
  /** Its path: `item`, `items[].name`. */
  readonly path: string;
  /** The variable of the message that has the values, as a JSON list. */
  readonly variable: string;
  /** The types of the values. */
  readonly types: readonly ('string' | 'integer' | 'number')[];
}

/** Facts of a parameter that are not in the prompt. */
export interface ParamNotes {
  /** Whether its object must have it; of an item: whether that is so for the list. */
  readonly required: boolean;
  /** customer: the value must appear in what the user has said; context: not there alone; any: it is not checked. */
  readonly source?: 'customer' | 'context' | 'any';
  /** Why the value is needed. */
  readonly significance?: string;
  readonly examples?: readonly unknown[];
  /** Whether the user is never asked for it. */
  readonly hidden?: boolean;
  /** Order in which missing parameters are asked for, lowest first. */
  readonly precedence?: number;
}

/** Where a tool was declared; for the pointers of errors that are found later. */
export interface ToolOrigin {
  /** JSON pointer of name and parameters in the declaration. */
  readonly pointer: '' | '/function';
  /** Names of the parameters, if they were declared as a list. */
  readonly list?: readonly string[];
}

/** A tool call that was parsed from a model's text. */
export interface DetectedCall {
  readonly name: string;
  /** As the model wrote them: not coerced, not rounded. */
  readonly arguments: JsonObject;
  /** The part of the text that was parsed as the call. */
  readonly raw: string;
  /** Whether only the lenient parser could read it, or members that are no part of a call were left aside. */
  readonly repaired: boolean;
  /** What the model wrote about the call at its beginning; absent: nothing. */
  readonly thought?: string;
  /** How probable it is, 0 to 1; absent: not known. */
  readonly confidence?: number;
}

/** The tool calls of a model's text. */
export interface Detection {
  readonly calls: readonly DetectedCall[];
  /** The text without the calls. */
  readonly residual: string;
  /** Whether the text ends inside a call. */
  readonly truncated: boolean;
  /** That call, where a mark opens it: all of it is the end of the residual. */
  readonly cutOff?: string;
  /**
   * What the format itself found to be markup of a call that it cannot read, in the order of the text. Where the residual
   * has it, it is no part of the answer. Absent: the format leaves the search to the marks of calls.
   */
  readonly unread?: readonly MalformedCall[];
}

/** What a parser may know in addition to the text. */
export interface DetectOptions {
  /** The offered tools: some notations write values whose type only the schema of the parameter tells. */
  readonly tools?: readonly Tool[];
  /** The marks of the model's replies: what they mark as reasoning has no calls. Default: `<think>` and `[THINK]`. */
  readonly marks?: ReplyMarks;
  /** Whether a call may begin with a member `thought`. Default false: then it is left aside as a repair, in tags only. */
  readonly thought?: boolean;
  /** Whether the token limit ended the text: a value that nothing closes is then cut off. Default false. */
  readonly isCutOff?: boolean;
}

/** Tool-call format of a model family: how tools are put into a prompt, and how calls are detected and constrained. */
export interface ToolCallFormat {
  readonly name: string;
  /** Where the text of `render` is inserted into the prompt. */
  readonly place: 'system' | 'first-user' | 'last-user';
  /** The marks around calls, its own and those of all formats; absent: it has none of its own. */
  readonly markup?: CallMarkup;
  /** How often a node asks again after a call with a mistake, where its graph does not say. Default 0. */
  readonly retries?: number;
  /** Whether a call of an unknown tool is such a mistake. Default false: it goes to the client, which decides. */
  readonly retriesUnknown?: boolean;
  /** Whether only the whole reply tells which text is the answer, so that none can be sent while it is generated. */
  readonly answersAtEnd?: true;
  /** Stop strings of replies with calls, in addition to those of the sampling parameters. */
  readonly stop?: readonly string[];
  /** The tools as prompt text, for models whose chat template does not support tools. */
  render(tools: readonly Tool[]): string;
  /** Calls of an assistant message as prompt text, for the same models. Default: JSON with "tool" and "args". */
  renderCalls?(calls: readonly WrittenCall[]): string;
  /** The result of one call as prompt text, for the same models. Default: a plain line. */
  renderResult?(call: AnsweredCall): string;
  /** Tool-call parser: finds the calls in the complete text of a model, control tokens included. Never throws. */
  detect(text: string, options?: DetectOptions): Detection;
  /** The grammar of calls of these tools; a format without it cannot be strict. @throws UnsupportedToolSchema */
  grammar?(tools: readonly Tool[], choice: ToolChoice): CallGrammar;
}

/** Defines a tool-call format. */
export const defineFormat = (format: ToolCallFormat): ToolCallFormat => format;

/** The marks that a format writes around calls; plain data. A mark that ends with `=` goes on to the next `>`. */
export interface CallMarkup {
  /** Marks that start calls. */
  readonly opens: readonly string[];
  /** Marks that end them. */
  readonly closes: readonly string[];
  /** Marks between the two. */
  readonly inner: readonly string[];
}

/** The marks of several formats together, each once; what opens in one of them opens in all. */
export function joinMarkup(list: readonly CallMarkup[]): CallMarkup {
  const opens = new Set(list.flatMap((markup) => markup.opens));
  const closes = new Set(list.flatMap((markup) => markup.closes).filter((mark) => !opens.has(mark)));
  const inner = list.flatMap((markup) => markup.inner).filter((mark) => !opens.has(mark) && !closes.has(mark));
  return { opens: [...opens], closes: [...closes], inner: [...new Set(inner)] };
}

/** A call as it is written into a prompt. */
export interface WrittenCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** A call with the result that the client gave for it. */
export interface AnsweredCall extends WrittenCall {
  /** Whether the call succeeded. */
  readonly ok: boolean;
  /** Text or JSON. */
  readonly content: string;
  /** Whether later turns see the result, too. */
  readonly lifespan: 'TURN' | 'DIALOG';
}

/** The content of a result as a model reads it: text of a failed call says that it is an error, JSON stays as it is. */
export function resultContent({ ok, content }: Pick<AnsweredCall, 'ok' | 'content'>): string {
  if (ok || isJson(content)) return content;
  return content === '' ? 'Error' : `Error: ${content}`;
}

/** Whether a text is a JSON object or list. "[Errno 2] no such file" and "{name} is unknown" are none. */
const isJson = (text: string): boolean => /^\s*[[{]/.test(text) && tryParseJson(text) !== undefined;

/** A result as a plain line of text, with the name of the tool. */
export const resultLine = (call: Pick<AnsweredCall, 'name' | 'ok' | 'content'>): string =>
  `Result of ${call.name}: ${resultContent(call)}`;

/** Markup in a model's text that opened a call and gave none. */
export interface MalformedCall {
  /** The markup and what it opened, as the model wrote it. */
  readonly text: string;
  /** Why it is no call, in plain English without a full stop. */
  readonly reason: string;
}
