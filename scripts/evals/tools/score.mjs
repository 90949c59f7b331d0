// Scores of the tool-call evaluation: counts of outcomes, and their rates.
import { callCategories, categories } from './items.mjs';
import { resultOutcomes } from './judgeResult.mjs';
import { wirings } from './runResultItem.mjs';

const outcomes = ['exact', 'wrong', 'wrongCount', 'decodeFailure', 'falseCall', 'missed', 'failed'];

const emptyCounts = (names) => Object.fromEntries(names.map((name) => [name, 0]));

/** The score of one row: outcomes by category, and tokens and time of its calls. */
export class Score {
  #counts = new Map(categories.map((category) => [category, emptyCounts(outcomes)]));
  #results = new Map(wirings.map((wiring) => [wiring, emptyCounts([...resultOutcomes, 'failed'])]));
  #cost = { calls: 0, tokens: 0, ms: 0 };

  /** Counts an item; `answer` is undefined when the turn failed. */
  add(category, outcome, answer) {
    this.#counts.get(category)[outcome]++;
    const calls = answer?.calls.length ?? 0;
    if (calls === 0) return;
    this.#cost.calls += calls;
    this.#cost.tokens += answer.tokens;
    this.#cost.ms += answer.ms;
  }

  /** Counts an item of "result given". */
  addResult(wiring, outcome) {
    this.#results.get(wiring)[outcome]++;
  }

  /** Rates from 0 to 1, null without items: of the items that expect a call, and `falseCall` of the others. */
  get summary() {
    const { calls, tokens, ms } = this.#cost;
    return {
      exact: this.#rate('exact', callCategories),
      exactByCategory: Object.fromEntries(
        callCategories.map((category) => [category, this.#rate('exact', [category])]),
      ),
      wrong: this.#rate('wrong', callCategories),
      wrongCount: this.#rate('wrongCount', callCategories),
      decodeFailure: this.#rate('decodeFailure', callCategories),
      missed: this.#rate('missed', callCategories),
      falseCall: this.#rate('falseCall', ['irrelevance']),
      resultGiven: this.#resultRate('loop'),
      resultGivenToGenerate: this.#resultRate('generate'),
      tokensPerCall: calls === 0 ? null : tokens / calls,
      msPerCall: calls === 0 ? null : ms / calls,
      failed: this.#count('failed', categories) + wirings.reduce((sum, one) => sum + this.#results.get(one).failed, 0),
      outcomes: Object.fromEntries(this.#counts),
      resultOutcomes: Object.fromEntries(this.#results),
    };
  }

  #count(outcome, among) {
    return among.reduce((sum, category) => sum + this.#counts.get(category)[outcome], 0);
  }

  #resultRate(wiring) {
    const counts = this.#results.get(wiring);
    const asked = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return asked === 0 ? null : counts.used / asked;
  }

  #rate(outcome, among) {
    const asked = outcomes.reduce((sum, name) => sum + this.#count(name, among), 0);
    return asked === 0 ? null : this.#count(outcome, among) / asked;
  }
}
