/** How prompts are written for a model that has no chat template of its own. */
export interface FamilyLayout {
  readonly family: string;
  /** A chat template (Jinja). */
  readonly source: string;
}

const noSystem =
  "{% if message['role'] == 'system' %}{{ raise_exception('no system messages') }}" +
  "{% elif message['role'] != 'user' and message['role'] != 'assistant' %}{{ raise_exception('unknown role') }}{% endif %}";

const each = (body: string): string => `{% for message in messages %}${body}{% endfor %}`;
const replyBegins = (opening: string): string => `{% if add_generation_prompt %}{{ '${opening}' }}{% endif %}`;

const chatmlLayout: FamilyLayout = {
  family: 'ChatML',
  source:
    each("{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}") +
    replyBegins('<|im_start|>assistant\\n'),
};

// By a control token of the family. A base model has the vocabulary of its family, and was not trained to end its turns.
const layouts: Readonly<Record<string, FamilyLayout>> = {
  '<|im_start|>': chatmlLayout,
  '<start_of_turn>': {
    family: 'Gemma',
    source:
      '{{ bos_token }}' +
      each(
        `${noSystem}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else 'user') + '\\n' + message['content'] + '<end_of_turn>\\n' }}`,
      ) +
      replyBegins('<start_of_turn>model\\n'),
  },
  '<|start_header_id|>': {
    family: 'Llama 3',
    source:
      '{{ bos_token }}' +
      each(
        "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] + '<|eot_id|>' }}",
      ) +
      replyBegins('<|start_header_id|>assistant<|end_header_id|>\\n\\n'),
  },
  '[INST]': {
    family: 'Mistral',
    source:
      '{{ bos_token }}' +
      each(
        `${noSystem}{{ '[INST] ' + message['content'] + '[/INST]' if message['role'] == 'user' else ' ' + message['content'] + eos_token }}`,
      ),
  },
};

/** The layout of the family whose control tokens a vocabulary has; ChatML for all others. */
export const layoutOf = (isInVocabulary: (spelling: string) => boolean): FamilyLayout =>
  Object.entries(layouts).find(([token]) => isInVocabulary(token))?.[1] ?? chatmlLayout;

export const noTemplateReason = 'the file has no chat template';

export const noTemplateNote =
  `${noTemplateReason}: it is mostly that of a base model, which continues texts and was not trained to answer or to call ` +
  'tools; use its variant for chat, whose name ends with "-it", "-Instruct" or "-chat"';
