import { toToolBlock } from '../../dialog.ts';
import type { Model } from '../../engine/engine.ts';
import { runChunk } from '../../eventLoop.ts';
import { MessageBudget, type Projection } from '../../projection/projection.ts';
import { toolProjection } from '../../projection/withTools.ts';
import type { ToolChoice } from '../../tools/grammar/grammar.ts';
import type { Tool, ToolCallFormat } from '../../tools/tool.ts';
import { constrainCalls, toolsError, type CallConstraint } from './callConstraint.ts';
import { choicesOf, laterChoice, seenTools, type DeclaredOffer } from './declaredOffer.ts';
import { RecentlyUsed } from './recentlyUsed.ts';

/** What a node offers to the model in one question: its tools, how calls are constrained, and the projection of its prompt. */
export interface ToolOffer {
  /** The tools as they were declared, by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** The tools as the model sees them: with the parameter `thought`, if the node has it. */
  readonly seen: readonly Tool[];
  readonly constraint: CallConstraint;
  readonly projection: Projection;
}

/** Some tools of a node, with what was compiled of them. */
interface CompiledTools extends Omit<ToolOffer, 'constraint'> {
  readonly constraints: Map<ToolChoice, CallConstraint>;
}

// Grammars and projections of one node; a prompt of a node that alternates between more is compiled again.
const maxCompiled = 16;

/** The offers of a node: which tools it offers in a turn, with grammars and projections that are compiled once. */
export class ToolOffers {
  readonly #declared: DeclaredOffer;
  readonly #format: ToolCallFormat;
  readonly #model: Model;
  readonly #budget: MessageBudget;
  readonly #compiled = new RecentlyUsed<string, CompiledTools>(maxCompiled);

  private constructor(declared: DeclaredOffer, format: ToolCallFormat, model: Model) {
    this.#declared = declared;
    this.#format = format;
    this.#model = model;
    this.#budget = new MessageBudget(model);
  }

  /** Compiles what does not depend on a turn. @throws InvalidParams when the format has no grammar for the tools. */
  static async create(declared: DeclaredOffer, format: ToolCallFormat, model: Model): Promise<ToolOffers> {
    const offers = new ToolOffers(declared, format, model);
    const { tools } = declared;
    try {
      for (const choice of choicesOf(declared)) await offers.#compile(tools, choice);
    } catch (error) {
      throw toolsError(error, tools);
    }
    return offers;
  }

  /**
   * What the node offers in a turn; undefined: nothing, with `tool_choice` none.
   * @param hasResults whether a call of the node has a result in this turn.
   */
  async offerFor(hasResults: boolean): Promise<ToolOffer | undefined> {
    const { tools, choice } = this.#declared;
    return choice && this.#compile(tools, hasResults && choice.kind !== 'auto' ? laterChoice : choice);
  }

  async #compile(tools: ReadonlyMap<string, Tool>, choice: ToolChoice): Promise<ToolOffer> {
    const compiled = this.#compiled.get(JSON.stringify([...tools.keys()]), () => this.#create(tools));
    const { constraints, seen } = compiled;
    const options = { choice, strict: this.#declared.strict };
    const known = constraints.get(choice);
    const constraint = known ?? (await runChunk(() => constrainCalls(seen, options, this.#format)));
    constraints.set(choice, constraint);
    return { ...compiled, constraint };
  }

  #create(tools: ReadonlyMap<string, Tool>): CompiledTools {
    const seen = [...seenTools(tools, this.#declared.thought).values()];
    const projection = toolProjection(this.#model, toToolBlock(seen, this.#format), this.#budget);
    return { tools, seen, projection, constraints: new Map() };
  }
}
