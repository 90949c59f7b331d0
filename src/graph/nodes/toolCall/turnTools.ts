import { didYouMean } from '../../../base/didYouMean.ts';
import { runChunk } from '../../../base/eventLoop.ts';
import { LruCache } from '../../../base/lruCache.ts';
import { memoizedByKey } from '../../../base/memoized.ts';
import { toToolBlock } from '../../../chat/dialog.ts';
import { compileArguments, UnsupportedToolSchema } from '../../../chat/formats/callGrammar.ts';
import type { ToolChoice } from '../../../chat/grammar/rule.ts';
import type { EnumSource, Tool, ToolCallFormat } from '../../../chat/tool.ts';
import { withEnums, readEnumValues } from '../../../chat/tools/declaration/enumSource.ts';
import type { Model } from '../../../inference/contract/engine.ts';
import type { NodeContext } from '../../compile/node.ts';
import type { Turn } from '../../compile/turn.ts';
import { toolProjection, type Projection } from '../../projection/projection.ts';
import { TokenBudget } from '../../projection/tokenBudget.ts';
import { requireGrammars } from '../inference.ts';
import { constrainCalls, constraintPointer, isConstrained, toolsError, type CallConstraint } from './callConstraint.ts';
import { groupsToCheck, laterChoice, promptedTools, type ToolDeclarations } from './toolDeclarations.ts';

/** The tools that a node offers to the model in a turn. */
export interface TurnTools {
  readonly declarations: ToolDeclarations;
  /** The tools as they were declared, with the values of the turn, by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** The tools as the model sees them: with the parameter `thought`, if the node has it. */
  readonly prompted: readonly Tool[];
  readonly projection: Projection;
  /** How calls are constrained, for the choice of the turn. */
  readonly constraint: CallConstraint;
}

interface CompilerOptions extends Pick<NodeContext, 'nodeName'> {
  readonly format: ToolCallFormat;
  readonly model: Model;
}

/** The tools of turns with any choice; an error: they cannot be offered together with that choice. */
interface CompiledTools extends Omit<TurnTools, 'constraint'> {
  readonly constraints: Map<ToolChoice, CallConstraint | UnsupportedToolSchema>;
}

// Sets of tools of one node; one that alternates between more compiles them again.
const maxCompiled = 16;

/** Finds the tools that a node offers in a turn, and keeps their grammars and projections for later turns. */
export class ToolCompiler {
  readonly declarations: ToolDeclarations;
  readonly #options: CompilerOptions;
  readonly #budget: TokenBudget;
  readonly #compiled = new LruCache<CompiledTools>({ maxEntries: maxCompiled });

  private constructor(declarations: ToolDeclarations, options: CompilerOptions) {
    this.declarations = declarations;
    this.#options = options;
    this.#budget = new TokenBudget(options.model);
  }

  /** Compiles what does not depend on a turn. @throws InvalidParams when the format has no grammar for the tools. */
  static async create(declarations: ToolDeclarations, options: CompilerOptions): Promise<ToolCompiler> {
    const compiler = new ToolCompiler(declarations, options);
    for (const { tools, choice } of groupsToCheck(declarations)) {
      const compiled = await compiler.#compile(tools, choice);
      if (compiled instanceof UnsupportedToolSchema) throw toolsError(compiled, declarations.tools);
    }
    return compiler;
  }

  /**
   * The tools of a turn; undefined: none, so that there is nothing to ask the model. What the graph asks for and cannot
   * be offered is a warning of the turn.
   * @param hasResults whether a call of the node has a result in this turn.
   */
  async toolsFor(turn: Turn, hasResults: boolean): Promise<TurnTools | undefined> {
    const { choice: own } = this.declarations;
    const choice = own && own.kind !== 'auto' && hasResults ? laterChoice : own;
    if (!choice) return undefined;
    let tools = withTurnValues(this.#selectedTools(turn), turn, this.#options.nodeName);
    while (this.#isWorthAsking(turn, tools, choice)) {
      const compiled = await this.#compile(tools, choice);
      if (!(compiled instanceof UnsupportedToolSchema)) return compiled;
      tools = this.#withoutUnsupported(turn, tools, compiled);
    }
    return undefined;
  }

  /** The answer to a question about the pending call need not select its tool again. */
  #selectedTools({ selection, pending }: Turn): ReadonlyMap<string, Tool> {
    const { tools, needsSelection } = this.declarations;
    if (!needsSelection) return tools;
    const asked = pending.filter(({ node }) => node === this.#options.nodeName);
    const selected = new Set([
      ...(selection?.tools ?? []).map(({ name }) => name),
      ...asked.map((call) => call.tool_name),
    ]);
    return new Map([...tools].filter(([name]) => selected.has(name)));
  }

  #isWorthAsking(turn: Turn, tools: ReadonlyMap<string, Tool>, choice: ToolChoice): boolean {
    if (choice.kind === 'tool' ? tools.has(choice.name) : tools.size > 0) return true;
    if (choice.kind === 'auto') return false;
    const [what, lack] = choice.kind === 'tool' ? [choice.name, 'that tool is not'] : [choice.kind, 'no tool is'];
    const because = this.declarations.needsSelection ? 'selected in this turn (tools_from)' : 'offered in this turn';
    turn.warn(
      `${this.#options.nodeName}.params.tool_choice is "${what}", and ${lack} ${because}: the model was not asked; set tool_choice to "auto" if that may be`,
    );
    return false;
  }

  #withoutUnsupported(
    turn: Turn,
    tools: ReadonlyMap<string, Tool>,
    { errors }: UnsupportedToolSchema,
  ): ReadonlyMap<string, Tool> {
    for (const { tool, pointer, message } of errors) {
      const variables = new Set(tools.get(tool)?.enumSources?.map(({ variable }) => `"${variable}"`));
      const fix = variables.size > 0 ? `, or send fewer values in ${[...variables].join(', ')}` : '';
      const reason = `${pointer} ${message}`.trimStart() + fix;
      turn.warn(`${this.#options.nodeName} leaves out the tool ${tool} in this turn: ${reason}`);
    }
    const unsupported = new Set(errors.map(({ tool }) => tool));
    return new Map([...tools].filter(([name]) => !unsupported.has(name)));
  }

  /** @throws InvalidParams when the format has no grammar. */
  async #compile(tools: ReadonlyMap<string, Tool>, choice: ToolChoice): Promise<TurnTools | UnsupportedToolSchema> {
    const key = keyOf(tools);
    const compiled = this.#compiled.get(key) ?? this.#create(tools);
    this.#compiled.set(key, compiled);
    const { prompted, constraints } = compiled;
    const constraint = constraints.get(choice) ?? (await this.#constrain(prompted, choice));
    constraints.set(choice, constraint);
    return constraint instanceof UnsupportedToolSchema ? constraint : { ...compiled, constraint };
  }

  #create(tools: ReadonlyMap<string, Tool>): CompiledTools {
    const { declarations } = this;
    const { format, model } = this.#options;
    const prompted = [...promptedTools(tools, declarations.thought).values()];
    const projection = toolProjection(model, toToolBlock(prompted, format), this.#budget);
    return { declarations, tools, prompted, projection, constraints: new Map() };
  }

  async #constrain(tools: readonly Tool[], choice: ToolChoice): Promise<CallConstraint | UnsupportedToolSchema> {
    const { format, model } = this.#options;
    const options = { ...this.declarations, choice };
    if (isConstrained(options)) for (const tool of tools) await runChunk(() => compileArguments(tool));
    return runChunk(() => {
      if (isConstrained(options)) requireGrammars(model, constraintPointer(options));
      try {
        return constrainCalls(tools, options, format);
      } catch (error) {
        if (error instanceof UnsupportedToolSchema) return error;
        throw error;
      }
    });
  }
}

// Of tools that differ from turn to turn, the parameters have the values.
const keyOf = (tools: ReadonlyMap<string, Tool>): string =>
  JSON.stringify([...tools.values()].map((tool) => (tool.enumSources ? [tool.name, tool.parameters] : tool.name)));

// Of the lists of all parameters together, each as often as it is used: each is written into the prompt, and compiled.
const maxCharacters = 131_072;

/**
 * Tools with the values that their parameters have in a turn, by name. A tool is left out, with a warning of the turn, where
 * a variable with values is missing or wrong, or where the values of the tools before it leave no room.
 */
function withTurnValues(tools: ReadonlyMap<string, Tool>, turn: Turn, nodeName: string): ReadonlyMap<string, Tool> {
  const textOf = (variable: string): string | undefined =>
    Object.hasOwn(turn.variables, variable) ? turn.variables[variable] : undefined;
  // A variable that is missing may be there by a similar name.
  const hintFor = (variable: string): string =>
    textOf(variable) === undefined ? didYouMean(variable, Object.keys(turn.variables)) : '';
  const read = memoizedByKey(
    ({ variable, types }: EnumSource) => JSON.stringify([variable, types]),
    (source) => readEnumValues(textOf(source.variable), source),
  );
  const found = new Map<string, Tool>();
  let characters = 0;
  for (const [name, tool] of tools) {
    const { enumSources = [] } = tool;
    const warn = (reason: string): void => turn.warn(`${nodeName} leaves out the tool ${name} in this turn: ${reason}`);
    const values = new Map<EnumSource, readonly unknown[]>();
    for (const source of enumSources) {
      const reading = read(source);
      if (reading.ok) values.set(source, reading.values);
      else warn(problemOf(source, reading.problem) + hintFor(source.variable));
    }
    if (values.size < enumSources.length) continue;
    const variables = enumSources.map(({ variable }) => variable);
    const more = variables.reduce((sum, variable) => sum + (textOf(variable)?.length ?? 0), 0);
    if (characters + more > maxCharacters) {
      const names = [...new Set(variables)].map((variable) => JSON.stringify(variable)).join(', ');
      warn(
        `with it, the lists of values of all tools have ${characters + more} characters, and ${maxCharacters} are allowed; send fewer values in ${names}`,
      );
      continue;
    }
    characters += more;
    found.set(name, values.size === 0 ? tool : withEnums(tool, values));
  }
  return found;
}

const problemOf = ({ path, variable }: EnumSource, problem: string): string =>
  `its parameter ${path} takes its values from the variable "${variable}", which ${problem}`;
