import { toToolBlock } from '../../../chat/dialog.ts';
import type { Model } from '../../../inference/contract/engine.ts';
import { runChunk } from '../../../base/eventLoop.ts';
import type { NodeContext } from '../../compile/node.ts';
import type { Turn } from '../../compile/turn.ts';
import { MessageBudget, type Projection } from '../../projection/projection.ts';
import { toolProjection } from '../../projection/withTools.ts';
import { compileArguments, UnsupportedToolSchema } from '../../../chat/formats/callGrammar.ts';
import type { ToolChoice } from '../../../chat/grammar/grammar.ts';
import type { Tool, ToolCallFormat } from '../../../chat/tool.ts';
import { requireGrammars } from '../modelLimits.ts';
import { constrainCalls, constraintPointer, isConstrained, toolsError, type CallConstraint } from './callConstraint.ts';
import { laterChoice, offersToCheck, seenTools, type DeclaredOffer, type OfferedTools } from './declaredOffer.ts';
import { RecentlyUsed } from './recentlyUsed.ts';
import { turnTools } from './turnTools.ts';

/** What a node offers to the model in a turn: its tools, how calls are constrained, and the projection of its prompts. */
export interface ToolOffer extends CompiledOffer {
  /** The names of tools that the node declares and does not offer in this turn. */
  readonly withheld: ReadonlySet<string>;
  /** The guidelines that brought tools, by the name of the tool. */
  readonly guidelines: ReadonlyMap<string, string>;
}

/** What is compiled of some tools and a choice among them. */
interface CompiledOffer {
  /** The tools as they were declared, by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** The tools as the model sees them: with the parameter `thought`, if the node has it. */
  readonly seen: readonly Tool[];
  readonly constraint: CallConstraint;
  readonly projection: Projection;
}

/** Some tools of a node, with what was compiled of them for each choice; an error: they cannot be offered together. */
interface CompiledTools extends Omit<CompiledOffer, 'constraint'> {
  readonly constraints: Map<ToolChoice, CallConstraint | UnsupportedToolSchema>;
}

// Sets of tools of one node; one that alternates between more compiles them again.
const maxCompiled = 16;

/** The offers of a node: which tools it offers in a turn, with grammars and projections that are kept for later turns. */
export class ToolOffers {
  readonly #nodeName: string;
  readonly #declared: DeclaredOffer;
  readonly #format: ToolCallFormat;
  readonly #model: Model;
  readonly #budget: MessageBudget;
  readonly #compiled = new RecentlyUsed<string, CompiledTools>(maxCompiled);

  private constructor({ declared, format, model, nodeName }: OffersOptions) {
    this.#nodeName = nodeName;
    this.#declared = declared;
    this.#format = format;
    this.#model = model;
    this.#budget = new MessageBudget(model);
  }

  /** Compiles what does not depend on a turn. @throws InvalidParams when the format has no grammar for the tools. */
  static async create(options: OffersOptions): Promise<ToolOffers> {
    const offers = new ToolOffers(options);
    for (const offer of offersToCheck(options.declared)) {
      const compiled = await offers.#compile(offer);
      if (compiled instanceof UnsupportedToolSchema) throw toolsError(compiled, options.declared.tools);
    }
    return offers;
  }

  /**
   * What the node offers in a turn; undefined: nothing, so that there is nothing to ask the model. What the graph asks
   * for and cannot be offered is a warning of the turn.
   * @param hasResults whether a call of the node has a result in this turn.
   */
  async offerFor(turn: Turn, hasResults: boolean): Promise<ToolOffer | undefined> {
    const { tools: declared, choice: own } = this.#declared;
    const choice = own && own.kind !== 'auto' && hasResults ? laterChoice : own;
    if (!choice) return undefined;
    const guidelines = this.#guidelinesOf(turn);
    let tools = this.#toolsOf(turn);
    while (this.#isWorthAsking(turn, { tools, choice })) {
      const compiled = await this.#compile({ tools, choice });
      if (!(compiled instanceof UnsupportedToolSchema)) {
        const withheld = new Set([...declared.keys()].filter((name) => !compiled.tools.has(name)));
        return { ...compiled, withheld, guidelines };
      }
      tools = this.#withoutUnsupported(turn, tools, compiled);
    }
    return undefined;
  }

  /** The guidelines that selected tools, by the name of the tool. Of several, the first counts. */
  #guidelinesOf({ selection }: Turn): ReadonlyMap<string, string> {
    if (!this.#declared.needsSelection) return new Map();
    return new Map((selection?.tools ?? []).toReversed().map(({ name, because }) => [name, because]));
  }

  #toolsOf(turn: Turn): ReadonlyMap<string, Tool> {
    const { tools, needsSelection } = this.#declared;
    const selected = new Set(turn.selection?.tools.map(({ name }) => name));
    const offered = needsSelection ? new Map([...tools].filter(([name]) => selected.has(name))) : tools;
    return turnTools(offered, turn, this.#nodeName);
  }

  #isWorthAsking(turn: Turn, { tools, choice }: OfferedTools): boolean {
    if (choice.kind === 'tool' ? tools.has(choice.name) : tools.size > 0) return true;
    if (choice.kind === 'auto') return false;
    const { needsSelection } = this.#declared;
    const what = choice.kind === 'tool' ? choice.name : choice.kind;
    const lack = choice.kind === 'tool' ? 'that tool is not' : 'no tool is';
    const because = needsSelection ? `${lack} selected in this turn (tools_from)` : `${lack} offered in this turn`;
    turn.warn(
      `${this.#nodeName}.params.tool_choice is "${what}", and ${because}: the model was not asked; set tool_choice to "auto" if that may be`,
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
      turn.warn(`${this.#nodeName} leaves out the tool ${tool} in this turn: ${reason}`);
    }
    const unsupported = new Set(errors.map(({ tool }) => tool));
    return new Map([...tools].filter(([name]) => !unsupported.has(name)));
  }

  /** @throws InvalidParams when the format has no grammar. */
  async #compile({ tools, choice }: OfferedTools): Promise<CompiledOffer | UnsupportedToolSchema> {
    const compiled = this.#compiled.get(keyOf(tools), () => this.#create(tools));
    const known = compiled.constraints.get(choice);
    if (!known && isConstrained({ choice, strict: this.#declared.strict }))
      for (const tool of compiled.seen) await runChunk(() => compileArguments(tool));
    const constraint = known ?? (await runChunk(() => this.#constrain(compiled.seen, choice)));
    compiled.constraints.set(choice, constraint);
    return constraint instanceof UnsupportedToolSchema ? constraint : { ...compiled, constraint };
  }

  #create(tools: ReadonlyMap<string, Tool>): CompiledTools {
    const seen = [...seenTools(tools, this.#declared.thought).values()];
    const projection = toolProjection(this.#model, toToolBlock(seen, this.#format), this.#budget);
    return { tools, seen, projection, constraints: new Map() };
  }

  #constrain(tools: readonly Tool[], choice: ToolChoice): CallConstraint | UnsupportedToolSchema {
    try {
      const { strict, answer } = this.#declared;
      const options = { choice, strict, answer };
      if (answer || isConstrained(options)) requireGrammars(this.#model, constraintPointer(options));
      return constrainCalls(tools, options, this.#format);
    } catch (error) {
      if (error instanceof UnsupportedToolSchema) return error;
      throw error;
    }
  }
}

// Of tools that differ from turn to turn, the parameters have the values.
const keyOf = (tools: ReadonlyMap<string, Tool>): string =>
  JSON.stringify([...tools.values()].map((tool) => (tool.enumSources ? [tool.name, tool.parameters] : tool.name)));

/** Whose offers they are. */
export interface OffersOptions extends Pick<NodeContext, 'nodeName'> {
  readonly declared: DeclaredOffer;
  readonly format: ToolCallFormat;
  readonly model: Model;
}
