import { unwrapParam, defineNode, type NodeContext } from '../compile/node.ts';
import { templateParam } from '../compile/graphDeclarations.ts';
import { liveParams } from '../compile/liveParams.ts';
import type { Turn } from '../compile/turn.ts';
import type { FromSchema } from '../../protocol/schema.ts';
import { boolean, object, partialObject, string } from '../../protocol/schemaBuilders.ts';
import { chatProjection, placeTemplate, placements } from '../projection/projection.ts';
import { ruleFromSchema } from '../../chat/grammar/jsonSchema/fromSchema.ts';
import { markupOf } from '../../chat/dialect/nativeFormat.ts';
import { completeAnswer } from './answerWithoutCalls.ts';
import { InferenceRunner, inferenceParams, resolveModel, type PromptRequest, requireGrammars } from './inference.ts';

const params = partialObject({
  ...inferenceParams,
  template: string(
    { live: true, editor: 'multiline' },
    'Template that is inserted into the prompt, relative to the message, at `placement`.',
  ),
  placement: string(
    { enum: placements, default: 'before_user_as_system', live: true },
    'Where the template is inserted, and with which role.',
  ),
  stream: boolean({ default: true, live: true }, 'true: deltas as they are generated; false: one frame.'),
  response_schema: object('Constrained decoding: the answer is one JSON value that matches this JSON Schema.'),
  hold: boolean(
    { default: false, live: true },
    'Holds the answer back until the end of the turn: a later Guardrail can check it, a CannedResponse replaces it.',
  ),
});

/** The Generate node: answers with the text of a model. */
export const generate = defineNode({
  type: 'Generate',
  summary: 'Answers with the text of a model: streamed, in one frame, or held for a later node to check.',
  params,
  exits: ['default'],
  effects: ({ hold }) => ({
    infers: true,
    sends: hold ? [] : ['default'],
    showsCalls: false,
    held: hold ? 'replaced' : 'kept',
    tools: [],
  }),
  async create(params, context) {
    const { response_schema: schema } = params;
    const rule = schema && unwrapParam('/response_schema', ruleFromSchema(schema));
    const settings = await liveParams(params, (current) => compileTemplates(current, context));
    const lease = await resolveModel(context, params.model_name);
    if (schema) requireGrammars(lease.model, '/response_schema');
    const inference = new InferenceRunner(lease, context);
    const projection = chatProjection(lease.model);
    const markup = markupOf(lease.model.toolDialect);
    const createRequest = (turn: Turn): PromptRequest => {
      const { system, injected, placement, sampling, thinking, max_thinking_tokens } = settings.current;
      const template = injected && { text: injected.render(turn), placement };
      return {
        projection,
        system: system.render(turn),
        current: placeTemplate(turn.message, template),
        sampling,
        thinking,
        maxThinkingTokens: max_thinking_tokens,
      };
    };
    return {
      async run(turn) {
        const { stream, hold } = settings.current;
        const onText = stream && !hold ? (piece: string): void => turn.say(piece, 'delta') : undefined;
        const options = { nodeName: context.nodeName, markup, rule, onText };
        const text = await completeAnswer(turn, inference, createRequest(turn), options);
        if (hold) turn.hold(text);
        else if (!stream) turn.say(text, 'whole');
        return 'default';
      },
      warmUp: (turn) => inference.prefill(turn, createRequest(turn)),
      change: settings.change,
      [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
    };
  },
});

type Params = FromSchema<typeof params>;

function compileTemplates({ system_prompt, template, ...rest }: Params, context: NodeContext) {
  const { placement } = rest;
  const { nodeName, warn } = context;
  const system = templateParam('system_prompt', system_prompt, context);
  const injected = template === undefined ? undefined : templateParam('template', template, context);
  if (placement === 'in_place_of_user' && injected && !injected.names.has('user_message')) {
    warn(
      `${nodeName}.params.template replaces the message and does not contain {{user_message}}: the model will not see the message`,
    );
  }
  return { ...rest, system, injected };
}
