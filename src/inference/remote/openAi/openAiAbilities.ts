import type { Token } from '../../decoding/token.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import { readControlStrings } from './controlStrings.ts';
import { EstimatedTokenizer } from './estimatedTokenizer.ts';
import type { ServerProps } from '../inferenceServer.ts';
import { optional, readVersion } from './openAiIdentity.ts';
import { readLogprobs } from './openAiLogprobs.ts';
import type { OpenAiTokenizer } from './openAiTokenizer.ts';
import {
  completionPath,
  forcedBody,
  grammarBody,
  grammarFields,
  logprobsBody,
  type GrammarField,
} from './openAiRequest.ts';
import { openServerTokenizer } from './serverTokenizer.ts';
import type { ServerObject, ServerJson } from '../connection/serverJson.ts';

/** What an OpenAI-style server can do beyond the API that all of them share. */
export interface ServerAbilities extends Pick<ServerProps, 'bos' | 'eos' | 'build' | 'limits' | 'notes'> {
  readonly tokenizer: OpenAiTokenizer;
  /** Undefined: it follows no grammar. */
  readonly grammarField: GrammarField | undefined;
}

/** Finds out what a server can do, by requests of a few tokens: versions and options of servers say less. */
export async function probeAbilities(
  json: ServerJson,
  template: string,
  signal: AbortSignal,
): Promise<ServerAbilities> {
  const { url } = json.connection;
  const controls = await readControlStrings(json, template, signal);
  const served = await openServerTokenizer(json, controls, signal);
  const tokenizer = served ?? new EstimatedTokenizer(controls.strings);
  const prompt = tokenizer.promptOf(await tokenizer.tokenize(probeText, { special: false, signal }));
  const grammarField = await findGrammarField(json, prompt, signal);
  const scores = served ? await findScoringProblem(json, prompt, signal) : 'its probabilities are not known by token';
  return {
    tokenizer,
    // A server that is sent text writes the BOS token itself.
    bos: served ? controls.bos || served.bosSpelling : '',
    eos: controls.eos,
    build: await readVersion(json, signal),
    grammarField,
    limits: {
      samplers: `dry and xtc have no effect on the inference server at ${url}, which has no such samplers`,
      ...(grammarField === undefined && { grammars: `the inference server at ${url} follows no grammar in GBNF` }),
      ...(scores !== undefined && { scores: `the inference server at ${url} cannot score answers: ${scores}` }),
    },
    notes: [
      ...(served
        ? []
        : [`${url} has no /tokenize: tokens are estimated, rather too many, and prompts are sent as text`]),
      ...(!controls.eos && template.includes('eos_token')
        ? [
            `${url} does not name its EOS token, which the chat template writes: start vLLM with --enable-tokenizer-info-endpoint`,
          ]
        : []),
    ],
  };
}

// No control token, and nothing that a prompt begins with.
const probeText = 'The';
const probeAnswer = '#7Q';
/** All kinds of notation that grammars are written in. */
const probeGrammar = 'root ::= r0 ("x" | "")\nr0 ::= "\\U00000023" "7" [\\U00000051-\\U00000051]{1,1} ("" | r0)';

async function findGrammarField(
  json: ServerJson,
  prompt: string | readonly Token[],
  signal: AbortSignal,
): Promise<GrammarField | undefined> {
  for (const field of grammarFields) {
    const request = { prompt, max_tokens: 8, temperature: 0, ...grammarBody(field, probeGrammar) };
    const { text } = firstChoice(await optional(json.post(completionPath, request, signal)));
    if (typeof text === 'string' && text.startsWith(probeAnswer)) return field;
  }
  return undefined;
}

/** Why answers cannot be scored; undefined: they can. The probability of a token that is forced must be that without force. */
async function findScoringProblem(
  json: ServerJson,
  prompt: string | readonly Token[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const ask = async (fields: object): Promise<ReadonlyMap<number, number>> => {
    const request = { prompt, max_tokens: 1, temperature: 0, ...logprobsBody(Infinity), ...fields };
    return readLogprobs(firstChoice(await optional(json.post(completionPath, request, signal)))['logprobs']);
  };
  const free = [...(await ask({}))].sort(([, a], [, b]) => b - a);
  const last = free.at(-1);
  if (!last || free.length < 2) return 'it does not report the probabilities of tokens by their ids';
  const [token, expected] = last;
  const forced = (await ask(forcedBody(token as Token))).get(token);
  if (forced === undefined) return 'it does not generate the token that logit_bias demands';
  return Math.abs(forced - expected) < maxDeviation
    ? undefined
    : 'the probabilities that it reports include logit_bias';
}

// Numbers of another batch differ a little.
const maxDeviation = 0.5;

function firstChoice({ choices }: ServerObject): ServerObject {
  const [choice] = Array.isArray(choices) ? (choices as readonly unknown[]) : [];
  return isObject(choice) ? choice : {};
}
