import { unwrapParam, defineNode, InvalidParams, type NodeContext } from '../compile/node.ts';
import { templateParam } from '../compile/graphDeclarations.ts';
import { liveParams } from '../compile/liveParams.ts';
import type { Turn } from '../compile/turn.ts';
import type { FromSchema } from '../../protocol/schema.ts';
import { boolean, object, partialObject, string } from '../../protocol/schemaBuilders.ts';
import { chatProjection, placeTemplate, placements } from '../projection/projection.ts';
import { ruleFromSchema } from '../../chat/grammar/jsonSchema/fromSchema.ts';
import { answerFieldsParam, answerInFields, describeForm, readAnswerForm } from './answerFields.ts';
import { completeAnswer } from './answerWithoutCalls.ts';
import { summaryParams } from './runningSummary.ts';
import { InferenceRunner, inferenceParams, resolveModel, type PromptRequest, requireGrammars } from './inference.ts';

const params = partialObject({
  ...inferenceParams,
  ...summaryParams,
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
  answer_fields: answerFieldsParam,
  history: string(
    { enum: ['speech', 'fields'], default: 'speech', live: true },
    'What later prompts show of an answer in answer_fields: its speech alone, or all fields as JSON.',
  ),
  hold: boolean(
    { default: false, live: true },
    'Holds the answer back until the end of the turn: a later Guardrail can check it, a CannedResponse replaces it.',
  ),
});

export const generate = defineNode({
  type: 'Generate',
  summary: 'Answers with the text of a model: streamed, in one frame, or held for a later node to check.',
  params,
  exits: ['default'],
  needs: { summary_tokens: 'summary', placement: 'template' },
  fieldNames: ({ answer_fields: fields = [] }) => fields.map(({ name }) => name),
  effects: ({ hold, answer_fields: fields = [] }) => ({
    infers: true,
    sends: hold ? [] : ['default'],
    showsCalls: false,
    textFields: fields.filter(({ type }) => type === 'text').map(({ name }) => name),
    held: hold ? 'replaced' : 'kept',
    tools: [],
  }),
  async create(params, context) {
    const { response_schema: schema, answer_fields: fields } = params;
    const rule = schema && unwrapParam('/response_schema', ruleFromSchema(schema));
    if (schema && fields) {
      const message = 'cannot be given together with answer_fields; remove one of them';
      throw new InvalidParams([{ pointer: '/response_schema', message }]);
    }
    const form = fields && readAnswerForm(fields);
    const settings = await liveParams(params, (current) => compileTemplates(current, context));
    const lease = await resolveModel(context, params.model_name);
    if (schema) requireGrammars(lease.model, '/response_schema');
    if (form) requireGrammars(lease.model, '/answer_fields');
    const inference = new InferenceRunner(lease, context, {}, params);
    const projection = chatProjection(lease.model);
    const createRequest = (turn: Turn): PromptRequest => {
      const { system, injected, placement, sampling, thinking, max_thinking_tokens } = settings.current;
      const template = injected && { text: injected.render(turn), placement };
      return {
        projection,
        system: form ? describeForm(system.render(turn), form) : system.render(turn),
        current: placeTemplate(turn.message, template),
        sampling,
        thinking,
        maxThinkingTokens: max_thinking_tokens,
      };
    };
    return {
      async run(turn) {
        const { stream, hold } = settings.current;
        if (form) {
          await answerInFields(turn, inference, createRequest(turn), form, settings.current);
          return 'default';
        }
        const onText = stream && !hold ? (piece: string): void => turn.say(piece, 'delta') : undefined;
        const text = await completeAnswer(turn, inference, createRequest(turn), rule, onText);
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

function compileTemplates({ system_prompt, template, ...rest }: FromSchema<typeof params>, context: NodeContext) {
  const { nodeName, warn } = context;
  const constrained = rest.answer_fields ? 'answer_fields' : rest.response_schema && 'response_schema';
  if (constrained && rest.sampling.stop?.length)
    warn(`${nodeName}.params.sampling.stop has no effect: ${constrained} constrains the whole answer; remove it`);
  if (rest.history === 'fields' && !rest.answer_fields)
    throw new InvalidParams([
      { pointer: '/history', message: 'is "fields", and the node has no answer_fields; give them, or remove it' },
    ]);
  const system = templateParam('system_prompt', system_prompt, context);
  const injected = template === undefined ? undefined : templateParam('template', template, context);
  if (rest.placement === 'in_place_of_user' && injected && !injected.names.has('user_message'))
    warn(
      `${nodeName}.params.template replaces the message and does not contain {{user_message}}: the model will not see the message`,
    );
  return { ...rest, system, injected };
}
