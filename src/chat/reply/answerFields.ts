import { errorsBelow, type ReadResult, type SchemaError } from '../../protocol/schema.ts';
import { ruleFromSchema } from '../grammar/jsonSchema/fromSchema.ts';
import { fits } from '../grammar/matcher.ts';
import { object, type Member, type Rule } from '../grammar/rule.ts';
import { GrammarSize, sizeProblem } from '../grammar/size.ts';
import { parseJsonAt, parseJsonText } from '../json/lenientParser.ts';
import { JsonNumber, type JsonValue, stringifyJson } from '../json/value.ts';

export interface FieldDeclaration {
  readonly name: string;
  /** `speech`: what is said; each answer has one. */
  readonly type: 'speech' | 'enum' | 'text' | 'number' | 'integer';
  /** Of an enum: its values. */
  readonly values?: readonly string[];
  /** Inclusive limits of a number, integers themselves. */
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Fields in the order in which a model writes them, as one JSON object. */
export interface AnswerForm {
  readonly fields: readonly FieldDeclaration[];
  readonly speech: string;
  /** The grammar rule of the JSON object. */
  readonly rule: Rule;
  /** The grammar rules of the values, by the name of the field. */
  readonly values: ReadonlyMap<string, Rule>;
  /** What a prompt says of the form: the JSON object with its choices. */
  readonly description: string;
}

/** Characters of a text field: with it a frame is small, and a model that goes on and on comes to its speech. */
export const maxFieldLength = 1000;

/** Compiles fields to the form of an answer. Errors have pointers into the list of fields. */
export function compileAnswerForm(fields: readonly FieldDeclaration[]): ReadResult<AnswerForm> {
  const size = new GrammarSize();
  const compiled = fields.map((field, index) => {
    const { errors, rule } = valueRule(field, size);
    return { field, rule, errors: errorsBelow(`/${index}`, errors) };
  });
  const errors = compiled.flatMap((each) => each.errors);
  if (errors.length > 0) return { ok: false, errors };
  const members = compiled.map(({ field, rule }): Member => ({ key: field.name, rule, required: true }));
  const values = new Map(compiled.map(({ field, rule }) => [field.name, rule]));
  const speech = fields.find(({ type }) => type === 'speech')?.name ?? '';
  const described = fields.map((field) => `${JSON.stringify(field.name)}: ${describeValue(field)}`);
  const description = `{${described.join(', ')}}`;
  return { ok: true, value: { fields, speech, rule: object(members), values, description } };
}

function valueRule({ type, values, minimum, maximum }: FieldDeclaration, size: GrammarSize) {
  const bounds = { ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }) };
  const schemas = {
    speech: { type: 'string', minLength: 1 },
    text: { type: 'string', maxLength: maxFieldLength },
    number: { type, ...bounds },
    integer: { type, ...bounds },
    enum: { enum: values },
  };
  const compiled = ruleFromSchema(schemas[type]);
  const ofField = (error: SchemaError) => ({ ...error, pointer: error.pointer.replace('/enum', '/values') });
  if (!compiled.ok) return { errors: compiled.errors.map(ofField), rule: object([]) };
  const problem = sizeProblem(size, compiled.value);
  return { errors: problem === undefined ? [] : [{ pointer: '', message: problem }], rule: compiled.value };
}

function describeValue({ type, values = [], minimum, maximum }: FieldDeclaration): string {
  if (type === 'speech') return '"what you say"';
  if (type === 'text') return '"text"';
  if (type === 'enum') return values.map((value) => JSON.stringify(value)).join(' | ');
  const least = minimum === undefined ? '' : ` from ${minimum}`;
  const most = maximum === undefined ? '' : ` to ${maximum}`;
  return type + least + most;
}

/** What a reader of fields tells while a reply is generated. */
export interface AnswerFieldListener {
  /** A field that is no speech is complete. */
  onField(name: string, value: JsonValue): void;
  /** A piece of the speech, whole characters. */
  onSpeech(piece: string): void;
  onSpeechEnd(): void;
}

// What has come after a number, if that may go on.
const ofNumber = /^[\d.eE+-]*$/;
// A member up to its value, with its key.
const memberStart = /^\s*(?:[{,]\s*)?("(?:[^"\\]|\\.)*")\s*:\s*(?=\S)/s;
// The last character of a key or a value, the first one of a string, or what follows a number.
const memberEnd = /["\]},a-z]/;
// The longest beginning of a JSON string's content that has whole characters.
const speechPiece = /(?:[^"\\]|\\[^u]|\\u[dD][89abAB]..(?:\\u....|[^"\\]|\\[^u]|(?="))|\\u(?![dD][89abAB])....)*/sy;

/** Reads a reply in fields as it is generated. Values that the form does not allow are ignored; no JSON is speech. */
export class AnswerFieldReader {
  /** The speech, as far as it has come. */
  speech = '';
  /** The other fields. */
  readonly values = new Map<string, JsonValue>();
  readonly #form: AnswerForm;
  readonly #listener: AnswerFieldListener;
  #state: 'start' | 'members' | 'speech' | 'plain' | 'broken' = 'start';
  /** What is not read yet. */
  #rest = '';
  /** The end of it, which is looked at without copying all of it. */
  #piece = '';
  /** How far members are looked for in the rest. */
  #seen = 0;
  /** How many lists and objects are open there, besides the answer. */
  #depth = -1;
  #isQuoted = false;

  constructor(form: AnswerForm, listener: AnswerFieldListener) {
    this.#form = form;
    this.#listener = listener;
  }

  /** All fields that were read, as one JSON object, and the names of those that were not. */
  get result(): { readonly json: string; readonly missing: readonly string[] } {
    const names = this.#form.fields.map(({ name }) => name);
    const valueOf = (name: string) => (name === this.#form.speech ? this.speech || undefined : this.values.get(name));
    const read = names.filter((name) => valueOf(name) !== undefined);
    return {
      json: stringifyJson(new Map(read.map((name) => [name, valueOf(name)]))),
      missing: names.filter((name) => !read.includes(name)),
    };
  }

  /** Takes a piece of the reply. */
  push(piece: string): void {
    this.#rest += piece;
    this.#piece = this.#state === 'start' ? this.#rest : piece;
    if (this.#state === 'start' && piece.trim() !== '')
      this.#state = this.#rest.trimStart().startsWith('{') ? 'members' : 'plain';
    if (this.#state === 'plain') this.#say(this.#rest.length);
    while (this.#state === 'speech' ? this.#readSpeech() : this.#state === 'members' && this.#readMembers());
  }

  /** Reads on to the next place where a member may be complete, or the speech begin. @returns whether there was one. */
  #readMembers(): boolean {
    while (this.#seen < this.#rest.length) {
      const character = this.#piece.at(this.#seen++ - this.#rest.length) ?? '';
      if (character === '"') this.#isQuoted = !this.#isQuoted;
      else if (character === '\\') this.#seen++;
      else if (this.#isQuoted) continue;
      else if ('[{'.includes(character)) this.#depth++;
      else if (']}'.includes(character)) this.#depth--;
      if (this.#depth > 0 || !memberEnd.test(character)) continue;
      this.#readMember();
      return true;
    }
    return false;
  }

  #readMember(): void {
    const [start = '', key = ''] = memberStart.exec(this.#rest) ?? [];
    if (start === '') return;
    const name = String(parseJsonText(key));
    const isSpeech = name === this.#form.speech;
    if (isSpeech && this.speech === '' && this.#rest[start.length] === '"') {
      this.#drop(start.length + 1);
      this.#state = 'speech';
      return;
    }
    const parsed = parseJsonAt(this.#rest, start.length);
    if (!parsed.ok && !parsed.truncated) this.#state = 'broken';
    if (!parsed.ok || (parsed.value instanceof JsonNumber && ofNumber.test(this.#rest.slice(parsed.end)))) return;
    this.#drop(parsed.end);
    const rule = isSpeech || this.values.has(name) ? undefined : this.#form.values.get(name);
    if (!rule || !fits(stringifyJson(parsed.value), rule)) return;
    this.values.set(name, parsed.value);
    this.#listener.onField(name, parsed.value);
  }

  /** Takes out what is read. */
  #drop(length: number): void {
    this.#piece = this.#rest = this.#rest.slice(length);
    this.#seen = this.#depth = 0;
    this.#isQuoted = false;
  }

  /** Sends what there is of the speech. @returns whether it has ended. */
  #readSpeech(): boolean {
    speechPiece.lastIndex = 0;
    const { length = 0 } = speechPiece.exec(this.#rest)?.[0] ?? '';
    const hasEnded = this.#rest[length] === '"';
    const decoded = parseJsonAt(`"${this.#rest.slice(0, length)}"`, 0, { lenient: true });
    this.#say(length, decoded.ok ? String(decoded.value) : undefined);
    if (!hasEnded) return false;
    this.#drop(1);
    this.#state = 'members';
    this.#listener.onSpeechEnd();
    return true;
  }

  /** @param length of the speech in the reply. @param piece the same, decoded; default: it is as it was written. */
  #say(length: number, piece = this.#rest.slice(0, length)): void {
    this.#drop(length);
    if (piece === '') return;
    this.speech += piece;
    this.#listener.onSpeech(piece);
  }
}
