import { escapePointerToken, referenceTarget } from '../../../base/jsonPointer.ts';
import type { SchemaError } from '../../../protocol/schema.ts';
import { text, type Rule } from '../rule.ts';
import { jsonStyle, type RuleStyle } from '../jsonRules.ts';
import { GrammarSize, maxGrammarSize, sizePerRule, sizeProblem } from '../size.ts';

/** What all positions in one schema share. */
interface Compilation {
  /** The whole schema, which references name parts of. */
  readonly root: unknown;
  readonly errors: SchemaError[];
  readonly size: GrammarSize;
  /** How many schemas were compiled. */
  positions: number;
  /** Whether the grammar is too large or has too many alternatives: nothing more is compiled. */
  isTooLarge: boolean;
}

// A client is told of the first ones.
const maxErrors = 100;
// As many rules are the largest grammar.
const maxSchemas = maxGrammarSize / sizePerRule;

interface Position extends Pick<SchemaCursor, 'pointer' | 'depth' | 'style'> {
  /** The references that lead to it. */
  readonly references: readonly string[];
}

/** A position in a JSON Schema; collects errors with their JSON pointers, and the size of the grammar. */
export class SchemaCursor {
  readonly pointer: string;
  /** Number of steps from the root of the schema. */
  readonly depth: number;
  /** How the values of this position are written. */
  readonly style: RuleStyle;
  readonly #compilation: Compilation;
  readonly #references: readonly string[];

  private constructor(compilation: Compilation, { pointer, depth, style, references }: Position) {
    this.#compilation = compilation;
    this.pointer = pointer;
    this.depth = depth;
    this.style = style;
    this.#references = references;
  }

  static root(schema: unknown, style: RuleStyle = jsonStyle): SchemaCursor {
    const compilation = { root: schema, errors: [], size: new GrammarSize(), positions: 0, isTooLarge: false };
    return new SchemaCursor(compilation, { pointer: '', depth: 0, style, references: ['#'] });
  }

  get errors(): readonly SchemaError[] {
    return this.#compilation.errors;
  }

  /** Whether the rest of the schema is not compiled, because there are enough errors. */
  get isStopped(): boolean {
    return this.#compilation.isTooLarge || this.errors.length >= maxErrors;
  }

  /** The position of a subschema of the same value. */
  child(...tokens: readonly (string | number)[]): SchemaCursor {
    return this.#at(tokens, this.style);
  }

  /** What a reference names, and its position; undefined: an error was recorded. */
  target(reference: unknown): readonly [schema: unknown, cursor: SchemaCursor] | undefined {
    const name = String(reference);
    const schema = referenceTarget(this.#compilation.root, reference);
    const isWithinItself = this.#references.includes(name);
    if (schema !== undefined && !isWithinItself) {
      const position = { pointer: decodeURIComponent(name.slice(1)), depth: this.depth + 1, style: this.style };
      return [schema, new SchemaCursor(this.#compilation, { ...position, references: [...this.#references, name] })];
    }
    const why = isWithinItself ? 'contains itself, which a grammar cannot express' : 'is not there';
    this.child('$ref').addError(`refers to ${JSON.stringify(reference)}, which ${why}`);
    return undefined;
  }

  /** The position of the schema of an item or a member. */
  nested(...tokens: readonly (string | number)[]): SchemaCursor {
    return this.#at(tokens, this.style.nested ?? this.style);
  }

  /** Records that no grammar can express the schema at this position; returns a placeholder, so that compiling continues. */
  addError(message: string): Rule {
    const { errors } = this.#compilation;
    // What several references name is compiled for each.
    const isKnown = errors.some((error) => error.pointer === this.pointer && error.message === message);
    if (!this.isStopped && !isKnown) errors.push({ pointer: this.pointer, message });
    return placeholder;
  }

  /** Records a keyword that no grammar can express. */
  addKeywordError(keyword: string, why = 'which a grammar cannot express'): Rule {
    return this.child(keyword).addError(`is "${keyword}", ${why}`);
  }

  /** Whether so many subschemas or values can be compiled; records an error if not, before time is spent on them. */
  hasRoomFor(count: number): boolean {
    if (this.#compilation.positions + count <= maxSchemas) return true;
    this.#refuse(`makes the grammar too large: a schema may have ${maxSchemas} properties, branches and values`);
    return false;
  }

  /** Compiles the schema of this position, unless there are enough errors or schemas already. */
  compile(compileRule: () => Rule): Rule {
    if (this.isStopped || !this.hasRoomFor(1)) return placeholder;
    this.#compilation.positions++;
    return this.checkSize(compileRule());
  }

  /** Adds the rule of this position to the size of the grammar; returns it, or a placeholder when it makes it too large. */
  checkSize(rule: Rule): Rule {
    if (this.isStopped) return placeholder;
    const problem = sizeProblem(this.#compilation.size, rule);
    return problem === undefined ? rule : this.#refuse(problem);
  }

  #at(tokens: readonly (string | number)[], style: RuleStyle): SchemaCursor {
    const pointer = this.pointer + tokens.map(escapePointerToken).join('');
    const position = { pointer, depth: this.depth + 1, style, references: this.#references };
    return new SchemaCursor(this.#compilation, position);
  }

  #refuse(problem: string): Rule {
    this.addError(problem);
    this.#compilation.isTooLarge = true;
    return placeholder;
  }
}

const placeholder = text('');
