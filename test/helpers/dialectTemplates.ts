// Small chat templates, each with a dialect of tool calls of its own.

/** A chat template with the text of a message of the assistant: a Jinja program that sees `message`. */
const withAssistant = (assistant: string): string =>
  [
    '{%- if tools %}{{ "<|system|>Tools:" }}{% for tool in tools %}{{ "\\n" + tool.function | tojson }}{% endfor %}{{ "<|end|>\\n" }}{% endif %}',
    '{%- for message in messages %}{{ "<|" + message.role + "|>" }}',
    `{%- if message.role == "assistant" %}${assistant}{% else %}{{ message.content }}{% endif %}{{ "<|end|>\\n" }}{% endfor %}`,
    '{%- if add_generation_prompt %}{{ "<|assistant|>" }}{% endif %}',
  ].join('\n');

const reasoning = '{% if message.reasoning_content %}{{ "<muse>" + message.reasoning_content + "</muse>" }}{% endif %}';

const eachCall = (call: string): string => `{% for call in message.tool_calls or [] %}${call}{% endfor %}`;

/** Parameters in tags, typed by the tool's schema; reasoning between `<muse>` and `</muse>`. */
export const taggedTemplate = withAssistant(
  `${reasoning}{{ message.content or "" }}` +
    eachCall(
      '{{ "<act>\\n<do=" + call.function.name + ">\\n" }}' +
        '{% for key, value in call.function.arguments | items %}{{ "<with=" + key + ">\\n" }}' +
        '{{ value if value is string else value | tojson }}{{ "\\n</with>\\n" }}{% endfor %}{{ "</do>\\n</act>" }}',
    ),
);

/** JSON arguments after the name. */
export const namedJsonTemplate = withAssistant(
  `${reasoning}{{ message.content or "" }}` +
    eachCall('{{ "<act>" + call.function.name + "<with>" + call.function.arguments | tojson + "</act>" }}'),
);

/** Quotes in strings are not escaped, so that what is written is no JSON. */
export const unescapedTemplate = withAssistant(
  '{{ message.content or "" }}' +
    eachCall(
      '{{ "<act>{\\"name\\": \\"" + call.function.name + "\\", \\"arguments\\": {" }}' +
        '{% for key, value in call.function.arguments | items %}{{ "\\"" + key + "\\": " }}' +
        '{% if value is string %}{{ "\\"" + value + "\\"" }}{% else %}{{ value | tojson }}{% endif %}' +
        '{% if not loop.last %}, {% endif %}{% endfor %}{{ "}}</act>" }}',
    ),
);

/** Tools are left out. */
export const toollessTemplate = withAssistant('{{ message.content }}').split('\n').slice(1).join('\n');
